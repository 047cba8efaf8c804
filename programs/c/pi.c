// A sum in parts: T threads compute a part of pi each, on their own, and add it under a lock. The sections come in any order, so
// there are T! classes. The same program as quasi-optimal/pi.sel, which has integers.
//
//# verdict: verified
//# same: quasi-optimal/pi.sel
//# default: classes=6
//# T=5: classes=120

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef T
#define T 3
#endif
#define TERMS 1000

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
double pi;

void *worker(void *argument) {
    double own = 0;
    for (intptr_t k = (intptr_t)argument; k < TERMS; k += T) {
        own += (k % 2 ? -4.0 : 4.0) / (2.0 * (double)k + 1.0);
    }
    pthread_mutex_lock(&m);
    pi += own;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t threads[T];
    for (intptr_t i = 0; i < T; i++) pthread_create(&threads[i], 0, worker, (void *)i);
    for (int i = 0; i < T; i++) pthread_join(threads[i], 0);
    assert(pi > 3.14 && pi < 3.15);
    return 0;
}
