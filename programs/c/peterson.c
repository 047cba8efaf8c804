// Peterson's algorithm (1981): two threads, three variables, no lock. A thread that may not enter gives up after
// TRIES rounds, so that every execution ends. The same program as mutual-exclusion/peterson.sel.
//
//# verdict: verified
//# same: mutual-exclusion/peterson.sel
//# default: classes=28

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef TRIES
#define TRIES 2
#endif

atomic_bool wants[2];
atomic_int turn;
atomic_int inside;

void *p(void *number) {
    int me = (int)(intptr_t)number, other = 1 - me;
    atomic_store(&wants[me], true);
    atomic_store(&turn, other);
    bool may_enter = false;
    for (int attempt = 0; attempt < TRIES && !may_enter; attempt++)
        may_enter = !atomic_load(&wants[other]) || atomic_load(&turn) == me;
    if (may_enter) {
        // Both threads in the critical section?
        assert(atomic_fetch_add(&inside, 1) == 0);
        atomic_fetch_add(&inside, -1);
    }
    atomic_store(&wants[me], false);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], 0, p, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
