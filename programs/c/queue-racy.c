// A queue whose length is tested before the lock is taken: two consumers both see one item.
//
//# verdict: violated

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
    if (length == 0) return 0;
    pthread_mutex_lock(&lock);
    int item = items[--length];
    pthread_mutex_unlock(&lock);
    return item;
}

void *consumer(void *unused) {
    take();
    assert(length >= 0);
    return unused;
}

int main(void) {
    pthread_t a, b;
    put(7);
    pthread_create(&a, 0, consumer, 0);
    pthread_create(&b, 0, consumer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
