// Pairs of threads with a lock each; the second of each pair takes a common lock first.
// The same program as quasi-optimal/mpat.sel.
//
//# verdict: verified
//# same: quasi-optimal/mpat.sel
//# default: classes=8
//# K=3: classes=48

#include <pthread.h>
#include <stdint.h>

#ifndef K
#define K 2
#endif

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t a[K];

void *first(void *number) {
    intptr_t i = (intptr_t)number;
    pthread_mutex_lock(&a[i]);
    pthread_mutex_unlock(&a[i]);
    return 0;
}

void *second(void *number) {
    pthread_mutex_lock(&m);
    first(number);
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t threads[2 * K];
    for (int i = 0; i < K; i++) pthread_mutex_init(&a[i], 0);
    for (intptr_t i = 0; i < K; i++) {
        pthread_create(&threads[2 * i], 0, first, (void *)i);
        pthread_create(&threads[2 * i + 1], 0, second, (void *)i);
    }
    for (int i = 0; i < 2 * K; i++) pthread_join(threads[i], 0);
    return 0;
}
