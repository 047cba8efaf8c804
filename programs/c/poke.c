// A pool of T workers, each of which becomes free once. In each of I rounds a chooser runs through the numbers of the workers, and
// a poker pokes the one whose number it finds: if that worker is free, it is not any more. In the end as many pokes have
// counted as workers are not free. The same program as quasi-optimal/poke.sel.
//
//# verdict: verified
//# same: quasi-optimal/poke.sel
//# default: classes=4
//# T=2, I=3: classes=40

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef T
#define T 2
#endif
#ifndef I
#define I 1
#endif

pthread_mutex_t worker_lock[T];
bool is_free[T];
pthread_mutex_t choice_lock = PTHREAD_MUTEX_INITIALIZER;
int chosen, pokes;

void *worker(void *argument) {
    intptr_t i = (intptr_t)argument;
    pthread_mutex_lock(&worker_lock[i]);
    is_free[i] = true;
    pthread_mutex_unlock(&worker_lock[i]);
    return 0;
}

void *chooser(void *unused) {
    for (int v = 1; v < T; v++) {
        pthread_mutex_lock(&choice_lock);
        chosen = v;
        pthread_mutex_unlock(&choice_lock);
    }
    return unused;
}

void *poker(void *unused) {
    pthread_mutex_lock(&choice_lock);
    int i = chosen;
    pthread_mutex_unlock(&choice_lock);
    pthread_mutex_lock(&worker_lock[i]);
    if (is_free[i]) {
        pokes++;
        is_free[i] = false;
    }
    pthread_mutex_unlock(&worker_lock[i]);
    return unused;
}

int main(void) {
    pthread_t workers[T], c, p;
    for (int i = 0; i < T; i++) pthread_mutex_init(&worker_lock[i], 0);
    for (intptr_t i = 0; i < T; i++) pthread_create(&workers[i], 0, worker, (void *)i);
    for (int round = 0; round < I; round++) {
        pthread_create(&c, 0, chooser, 0);
        pthread_create(&p, 0, poker, 0);
        pthread_join(c, 0);
        pthread_join(p, 0);
    }
    int left = 0;
    for (int i = 0; i < T; i++) pthread_join(workers[i], 0);
    for (int i = 0; i < T; i++) left += is_free[i];
    assert(pokes + left == T);
    return 0;
}
