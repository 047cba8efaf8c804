// A reader-writer lock as Linux had it: a counter that begins at a large number, from which a reader takes 1 and a writer all. Who
// finds too little puts it back. The lock is tried, not waited for: those who wait can make each other wait without an
// end.
//
//# verdict: verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { BIAS = 0x00100000 };

atomic_int lock = BIAS;
int data;

bool read_trylock(void) {
    if (atomic_fetch_sub_explicit(&lock, 1, memory_order_acquire) > 0) return true;
    atomic_fetch_add_explicit(&lock, 1, memory_order_relaxed);
    return false;
}

void read_unlock(void) { atomic_fetch_add_explicit(&lock, 1, memory_order_release); }

bool write_trylock(void) {
    if (atomic_fetch_sub_explicit(&lock, BIAS, memory_order_acquire) == BIAS) return true;
    atomic_fetch_add_explicit(&lock, BIAS, memory_order_relaxed);
    return false;
}

void write_unlock(void) { atomic_fetch_add_explicit(&lock, BIAS, memory_order_release); }

void *reader(void *unused) {
    if (read_trylock()) {
        int seen = data;
        assert(data == seen && seen % 2 == 0);
        read_unlock();
    }
    return unused;
}

void *writer(void *unused) {
    if (write_trylock()) {
        data++;
        data++;
        write_unlock();
    }
    return unused;
}

int main(void) {
    pthread_t r, w, v;
    pthread_create(&r, 0, reader, 0);
    pthread_create(&w, 0, writer, 0);
    pthread_create(&v, 0, writer, 0);
    pthread_join(r, 0);
    pthread_join(w, 0);
    pthread_join(v, 0);
    assert(atomic_load(&lock) == BIAS);
    return 0;
}
