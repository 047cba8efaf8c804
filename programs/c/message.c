// A message and a flag, both relaxed: under sequential consistency who sees the flag sees the message, under rc11 not.
// With -DSEND=memory_order_release -DRECEIVE=memory_order_acquire it does.
//
//# verdict: verified
//# rc11: violated
//# default: classes=3

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef SEND
#define SEND memory_order_relaxed
#define RECEIVE memory_order_relaxed
#endif

atomic_int message, flag;

void *sender(void *unused) {
    atomic_store_explicit(&message, 42, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, SEND);
    return unused;
}

void *receiver(void *unused) {
    int ready = atomic_load_explicit(&flag, RECEIVE);
    int seen = atomic_load_explicit(&message, memory_order_relaxed);
    assert(!ready || seen == 42);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, sender, 0);
    pthread_create(&b, 0, receiver, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
