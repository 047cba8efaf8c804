// T threads add to a counter K times each, under a lock: (T·K)! / K!^T orders of critical sections.
// The same program as locks/counter.sel.
//
//# verdict: verified
//# same: locks/counter.sel
//# default: classes=6
//# T=2, K=2: classes=6
//# T=2, K=3: classes=20
//# T=4: classes=24

#include <assert.h>
#include <pthread.h>

#ifndef T
#define T 3
#endif
#ifndef K
#define K 1
#endif

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;

void *adder(void *unused) {
    for (int k = 0; k < K; k++) {
        pthread_mutex_lock(&m);
        x += 1;
        pthread_mutex_unlock(&m);
    }
    return unused;
}

int main(void) {
    pthread_t threads[T];
    for (int i = 0; i < T; i++) pthread_create(&threads[i], 0, adder, 0);
    for (int i = 0; i < T; i++) pthread_join(threads[i], 0);
    assert(x == T * K);
    return 0;
}
