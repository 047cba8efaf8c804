#include "ring.h"

void ring_init(struct ring *ring) {
    pthread_mutex_init(&ring->lock, 0);
    pthread_cond_init(&ring->changed, 0);
    ring->count = ring->first = 0;
}

void ring_put(struct ring *ring, int item) {
    pthread_mutex_lock(&ring->lock);
    while (ring->count == SIZE) pthread_cond_wait(&ring->changed, &ring->lock);
    ring->items[(ring->first + ring->count++) % SIZE] = item;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

int ring_take(struct ring *ring) {
    pthread_mutex_lock(&ring->lock);
    while (ring->count == 0) pthread_cond_wait(&ring->changed, &ring->lock);
    int item = ring->items[ring->first];
    ring->first = (ring->first + 1) % SIZE;
    ring->count--;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
    return item;
}
