// Szymanski's algorithm (1988): a waiting room with two doors, for two threads. Its waits are loops that spin, as it was
// published; mutual-exclusion/szymanski.sel has `await` in their place, and so fewer classes.
//
//# verdict: verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

// 0: outside, 1: wants to go in, 2: waits for others to come in, 3: in the doorway, 4: the entrance is closed behind it.
atomic_int flag[2];
atomic_int inside;

void *p(void *number) {
    int me = (int)(intptr_t)number, other = 1 - me;
    atomic_store(&flag[me], 1);
    while (atomic_load(&flag[other]) > 2) {
    }
    atomic_store(&flag[me], 3);
    if (atomic_load(&flag[other]) == 1) {
        atomic_store(&flag[me], 2);
        while (atomic_load(&flag[other]) != 4) {
        }
    }
    atomic_store(&flag[me], 4);
    if (me == 1) {
        while (atomic_load(&flag[other]) > 1) {
        }
    }
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_add(&inside, -1);
    if (me == 0) {
        for (;;) {
            int seen = atomic_load(&flag[other]);
            if (seen <= 1 || seen == 4) break;
        }
    }
    atomic_store(&flag[me], 0);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], 0, p, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
