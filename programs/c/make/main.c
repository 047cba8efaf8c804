// Two producers and a consumer at a ring. Its build is the Makefile beside it.

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#include "ring.h"

static struct ring ring;

static void *producer(void *item) {
    ring_put(&ring, (int)(intptr_t)item);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    ring_init(&ring);
    for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], 0, producer, (void *)(i + 1));
    int sum = ring_take(&ring) + ring_take(&ring);
    assert(sum == 3);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
