// N threads write where an index points that main moves on after each of them was created: the sum of the array is N only if
// each runs at once. A well-known benchmark of verification competitions.
//
// From the last thread to the first: thread k of N reads the index before, between or after the N - k + 1 moves that follow its
// creation, and there writes to the same place as those that came there before it, before, between or after them. That makes
// N - k + 2 places and one more for each of the N - k later threads: 2 * 4 * ... * 2N classes.
//
//# verdict: violated
//# default: classes=48
//# N=4: classes=384

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 3
#endif

atomic_int array[N + 1];
atomic_int array_index;

void *thread(void *unused) {
    atomic_store(&array[atomic_load(&array_index)], 1);
    return unused;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++) {
        pthread_create(&threads[i], 0, thread, 0);
        atomic_fetch_add(&array_index, 1);
    }
    for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
    int sum = 0;
    for (int i = 0; i < N; i++) sum += atomic_load(&array[i]);
    assert(sum == N);
    return 0;
}
