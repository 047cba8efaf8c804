// Two threads that add to each other's variable: the largest value that can come out is a Fibonacci number, and only one
// interleaving in very many leads to it. N = 5 and LIMIT = 144 has a violation. The same program as mat/fib.sel.
//
//# verdict: verified
//# same: mat/fib.sel
//# default: classes=141

#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif
#ifndef LIMIT
#define LIMIT 22
#endif

volatile int i = 1, j = 1;

void *one(void *unused) {
    for (int k = 0; k < N; k++) i = i + j;
    return unused;
}

void *two(void *unused) {
    for (int k = 0; k < N; k++) j = j + i;
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(i < LIMIT && j < LIMIT);
    return 0;
}
