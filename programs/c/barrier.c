// Threads meet at a barrier; arrivals commute, so there is one class. The same program as locks/barrier.sel.
//
//# verdict: verified
//# same: locks/barrier.sel
//# default: classes=1
//# N=3: classes=1

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif

pthread_barrier_t meet;
int a[N];

void *worker(void *number) {
    int i = (int)(intptr_t)number;
    a[i] = i + 1;
    pthread_barrier_wait(&meet);
    int j = (i + 1) % N;
    assert(a[j] == j + 1);
    return 0;
}

int main(void) {
    pthread_t threads[N];
    pthread_barrier_init(&meet, 0, N);
    for (intptr_t i = 0; i < N; i++) pthread_create(&threads[i], 0, worker, (void *)i);
    for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
    return 0;
}
