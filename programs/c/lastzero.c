// A thread searches an array from the end for a zero, while N others each write the element after a given one.
//
// What the search reads decides how far it goes, so the classes have no simple formula. The same program as
// optimal-dpor/lastzero.sel.
//
//# verdict: verified
//# same: optimal-dpor/lastzero.sel
//# default: classes=12
//# N=5: classes=64

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

atomic_int a[N + 1];

void *scan(void *unused) {
    int i = N;
    while (atomic_load(&a[i]) != 0) i--;
    // a[0] is never written, so the scan ends.
    assert(i >= 0);
    return unused;
}

void *add(void *number) {
    intptr_t j = (intptr_t)number;
    atomic_store(&a[j], atomic_load(&a[j - 1]) + 1);
    return 0;
}

int main(void) {
    pthread_t threads[N + 1];
    pthread_create(&threads[0], 0, scan, 0);
    for (intptr_t j = 1; j <= N; j++) pthread_create(&threads[j], 0, add, (void *)j);
    for (int i = 0; i <= N; i++) pthread_join(threads[i], 0);
    return 0;
}
