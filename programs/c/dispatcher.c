// A dispatcher: S servers, and a main thread that hands out R requests, one after the other. For each request a picker
// runs through the servers; main takes the one that it finds picked at the moment, and raises that server's inbox. The
// same program as quasi-optimal/dispatcher.sel.
//
//# verdict: verified
//# same: quasi-optimal/dispatcher.sel
//# default: classes=32
//# S=5, R=2: classes=137

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef S
#define S 2
#endif
#ifndef R
#define R 2
#endif

struct server {
    pthread_mutex_t lock;
    int inbox, outbox;
};

struct server servers[S];
pthread_mutex_t pick_lock = PTHREAD_MUTEX_INITIALIZER;
int picked;

void *serve(void *argument) {
    struct server *server = argument;
    pthread_mutex_lock(&server->lock);
    if (server->inbox > 0) server->outbox = server->inbox;
    pthread_mutex_unlock(&server->lock);
    return 0;
}

void *pick(void *unused) {
    for (int i = 0; i < S; i++) {
        pthread_mutex_lock(&pick_lock);
        picked = i;
        pthread_mutex_unlock(&pick_lock);
    }
    return unused;
}

int main(void) {
    pthread_t threads[S], picker;
    for (int i = 0; i < S; i++) {
        pthread_mutex_init(&servers[i].lock, 0);
        pthread_create(&threads[i], 0, serve, &servers[i]);
    }
    for (int request = 0; request < R; request++) {
        pthread_create(&picker, 0, pick, 0);
        pthread_mutex_lock(&pick_lock);
        struct server *server = &servers[picked];
        pthread_mutex_unlock(&pick_lock);
        pthread_mutex_lock(&server->lock);
        server->inbox++;
        pthread_mutex_unlock(&server->lock);
        pthread_join(picker, 0);
    }
    int sum = 0;
    for (int i = 0; i < S; i++) {
        pthread_join(threads[i], 0);
        assert(servers[i].outbox <= servers[i].inbox);
        sum += servers[i].inbox;
    }
    assert(sum == R);
    return 0;
}
