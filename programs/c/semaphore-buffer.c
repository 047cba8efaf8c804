// A buffer with two semaphores. The same program as locks/semaphore-buffer.sel.
//
//# verdict: verified
//# same: locks/semaphore-buffer.sel
//# default: classes=3

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

#define PLACES 2
#define ITEMS 2

sem_t empty, full;
int buffer[PLACES];

void *producer(void *unused) {
    for (int item = 0; item < ITEMS; item++) {
        sem_wait(&empty);
        buffer[item % PLACES] = item + 1;
        sem_post(&full);
    }
    return unused;
}

void *consumer(void *unused) {
    for (int item = 0; item < ITEMS; item++) {
        sem_wait(&full);
        assert(buffer[item % PLACES] == item + 1);
        sem_post(&empty);
    }
    return unused;
}

int main(void) {
    sem_init(&empty, 0, PLACES);
    sem_init(&full, 0, 0);
    pthread_t a, b;
    pthread_create(&a, 0, producer, 0);
    pthread_create(&b, 0, consumer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
