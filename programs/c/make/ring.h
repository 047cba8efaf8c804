// A ring of SIZE places between threads.

#ifndef RING_H
#define RING_H

#include <pthread.h>

enum { SIZE = 2 };

struct ring {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int items[SIZE];
    int count, first;
};

void ring_init(struct ring *ring);
void ring_put(struct ring *ring, int item);
int ring_take(struct ring *ring);

#endif
