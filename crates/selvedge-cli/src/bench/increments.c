// T threads add N times each to a counter, with an atomic operation or under a lock. The same as increments.sel.

#include <pthread.h>
#include <stdatomic.h>

#if LOCK
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int counter;
#else
atomic_int counter;
#endif

void *thread(void *unused) {
    for (int i = 0; i < N; i++) {
#if LOCK
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
#else
        atomic_fetch_add(&counter, 1);
#endif
    }
    return unused;
}

int main(void) {
    pthread_t threads[T];
    for (int i = 0; i < T; i++) pthread_create(&threads[i], 0, thread, 0);
    for (int i = 0; i < T; i++) pthread_join(threads[i], 0);
    return 0;
}
