// Many producers and consumers: P producers draw two numbers each from a common counter, and put a request into the queue that
// the last number names. W workers look twice into their queues. The same program as quasi-optimal/mpc.sel.
//
//# verdict: verified
//# same: quasi-optimal/mpc.sel
//# default: classes=3
//# P=2, W=5: classes=60

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef P
#define P 1
#endif
#ifndef W
#define W 2
#endif
#define TIMES 2

pthread_mutex_t queue_lock[W];
int requests[W];
pthread_mutex_t number_lock = PTHREAD_MUTEX_INITIALIZER;
int number;

void *worker(void *argument) {
    intptr_t i = (intptr_t)argument;
    for (int t = 0; t < TIMES; t++) {
        pthread_mutex_lock(&queue_lock[i]);
        if (requests[i] > 0) requests[i]--;
        pthread_mutex_unlock(&queue_lock[i]);
    }
    return 0;
}

void *producer(void *argument) {
    int drawn = 0;
    for (int t = 0; t < TIMES; t++) {
        pthread_mutex_lock(&number_lock);
        number = number * P + (int)(intptr_t)argument;
        drawn = number;
        pthread_mutex_unlock(&number_lock);
    }
    int to = drawn % W;
    pthread_mutex_lock(&queue_lock[to]);
    requests[to]++;
    pthread_mutex_unlock(&queue_lock[to]);
    return 0;
}

int main(void) {
    pthread_t workers[W], producers[P];
    for (int i = 0; i < W; i++) pthread_mutex_init(&queue_lock[i], 0);
    for (intptr_t i = 0; i < W; i++) pthread_create(&workers[i], 0, worker, (void *)i);
    for (intptr_t j = 0; j < P; j++) pthread_create(&producers[j], 0, producer, (void *)j);
    for (int i = 0; i < W; i++) pthread_join(workers[i], 0);
    for (int j = 0; j < P; j++) pthread_join(producers[j], 0);
    for (int i = 0; i < W; i++) assert(requests[i] <= P);
    return 0;
}
