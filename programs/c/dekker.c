// Dekker's algorithm (about 1962), the first for two threads. A thread whose turn it is not steps back and spins.
//
//# verdict: verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

atomic_bool wants[2];
atomic_int turn;
atomic_int inside;

void *p(void *number) {
    int me = (int)(intptr_t)number, other = 1 - me;
    atomic_store(&wants[me], true);
    while (atomic_load(&wants[other])) {
        if (atomic_load(&turn) == other) {
            atomic_store(&wants[me], false);
            while (atomic_load(&turn) == other) {
            }
            atomic_store(&wants[me], true);
        }
    }
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_add(&inside, -1);
    atomic_store(&turn, other);
    atomic_store(&wants[me], false);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], 0, p, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
