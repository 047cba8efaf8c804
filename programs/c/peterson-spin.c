// Peterson's algorithm with the loop of the textbook: a thread spins until it may enter. The check finds that the loop
// waits, and a thread that goes round continues when something it read has changed.
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
    atomic_store(&turn, other);
    while (atomic_load(&wants[other]) && atomic_load(&turn) == other) {
    }
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_add(&inside, -1);
    atomic_store(&wants[me], false);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], 0, p, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
