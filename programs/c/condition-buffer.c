// A buffer of one place with two condition variables. The same program as locks/condition-buffer.sel.
//
//# verdict: verified
//# same: locks/condition-buffer.sel
//# default: classes=8
//# K=1: classes=2

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#ifndef K
#define K 2
#endif

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
bool full;
int slot;

void *producer(void *unused) {
    for (int item = 1; item <= K; item++) {
        pthread_mutex_lock(&m);
        while (full) pthread_cond_wait(&not_full, &m);
        slot = item;
        full = true;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&m);
    }
    return unused;
}

void *consumer(void *unused) {
    for (int item = 1; item <= K; item++) {
        pthread_mutex_lock(&m);
        while (!full) pthread_cond_wait(&not_empty, &m);
        assert(slot == item);
        full = false;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&m);
    }
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, producer, 0);
    pthread_create(&b, 0, consumer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
