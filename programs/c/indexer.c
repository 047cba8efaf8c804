// Threads put words into a hash table by compare-exchange, and try the next place if one is taken.
//
// Up to 11 threads never meet; each further one adds collisions. The same program as optimal-dpor/indexer.sel.
//
//# verdict: verified
//# same: optimal-dpor/indexer.sel
//# default: classes=8
//# N=2, STRIDE=1, MESSAGES=2: classes=2
//# N=13: classes=64

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef N
#define N 12
#endif
#ifndef MESSAGES
#define MESSAGES 4
#endif
#ifndef STRIDE
#define STRIDE 11
#endif
#define SIZE 128

atomic_int table[SIZE];

void *indexer(void *number) {
    int t = (int)(intptr_t)number;
    for (int m = 1; m <= MESSAGES; m++) {
        int word = STRIDE * m + t;
        int h = (word * 7) % SIZE;
        for (;;) {
            int empty = 0;
            if (atomic_compare_exchange_strong(&table[h], &empty, word)) break;
            h = (h + 1) % SIZE;
        }
    }
    return 0;
}

int main(void) {
    pthread_t threads[N];
    for (intptr_t t = 0; t < N; t++) pthread_create(&threads[t], 0, indexer, (void *)t);
    for (int t = 0; t < N; t++) pthread_join(threads[t], 0);
    return 0;
}
