// A sequence lock: a reader tries again if the number changed while it read. The same program as
// lock-free/seqlock.sel.
//
//# verdict: verified
//# same: lock-free/seqlock.sel
//# default: classes=11
//# TRIES=2: classes=16

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef TRIES
#define TRIES 1
#endif

atomic_int sequence, a, b;

void *writer(void *unused) {
    atomic_store(&sequence, 1);
    atomic_store(&a, 1);
    atomic_store(&b, 1);
    atomic_store(&sequence, 2);
    return unused;
}

void *reader(void *unused) {
    for (int attempt = 0; attempt < TRIES; attempt++) {
        int before = atomic_load(&sequence);
        if (before % 2 == 0) {
            int x = atomic_load(&a);
            int y = atomic_load(&b);
            if (atomic_load(&sequence) == before) {
                // Half an update?
                assert(x == y);
                return unused;
            }
        }
    }
    return unused;
}

int main(void) {
    pthread_t w, r;
    pthread_create(&w, 0, writer, 0);
    pthread_create(&r, 0, reader, 0);
    pthread_join(w, 0);
    pthread_join(r, 0);
    return 0;
}
