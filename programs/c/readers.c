// One writer and N readers of the same variable; each reader first reads a variable of its own.
//
// Each reader sees the write or does not: 2^N classes. The same program as optimal-dpor/readers.sel.
//
//# verdict: verified
//# same: optimal-dpor/readers.sel
//# default: classes=4
//# N=3: classes=8
//# N=6: classes=64

#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 2
#endif

atomic_int x;
atomic_int y[N];

void *writer(void *unused) {
    atomic_store(&x, 1);
    return unused;
}

void *reader(void *mine) {
    atomic_load((atomic_int *)mine);
    atomic_load(&x);
    return 0;
}

int main(void) {
    pthread_t threads[N + 1];
    pthread_create(&threads[N], 0, writer, 0);
    for (int i = 0; i < N; i++) pthread_create(&threads[i], 0, reader, &y[i]);
    for (int i = 0; i <= N; i++) pthread_join(threads[i], 0);
    return 0;
}
