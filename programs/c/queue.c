// The queue of queue-racy.c, with every access under its lock.
//
//# verdict: verified

#include <assert.h>
#include <pthread.h>

#define SIZE 4

int items[SIZE], length;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void put(int item) {
    pthread_mutex_lock(&lock);
    items[length++] = item;
    pthread_mutex_unlock(&lock);
}

int take(void) {
    pthread_mutex_lock(&lock);
    int item = length > 0 ? items[--length] : 0;
    assert(length >= 0);
    pthread_mutex_unlock(&lock);
    return item;
}

void *consumer(void *unused) {
    take();
    return unused;
}

int main(void) {
    pthread_t a, b;
    put(7);
    pthread_create(&a, 0, consumer, 0);
    pthread_create(&b, 0, consumer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(length == 0);
    return 0;
}
