// The work-stealing deque of Chase and Lev (2005), with the orderings of Lê, Pop, Cohen and Nardelli (2013): the owner pushes and
// takes at the bottom, a thief steals from the top. Each item goes to one of them.
//
//# verdict: verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { SIZE = 4, EMPTY = -1, ABORT = -2 };

atomic_size_t top, bottom;
atomic_int items[SIZE];

void push(int item) {
    size_t b = atomic_load_explicit(&bottom, memory_order_relaxed);
    atomic_store_explicit(&items[b % SIZE], item, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
}

int take(void) {
    size_t b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
    atomic_store_explicit(&bottom, b, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    size_t t = atomic_load_explicit(&top, memory_order_relaxed);
    if ((long)t > (long)b) {
        atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
        return EMPTY;
    }
    int item = atomic_load_explicit(&items[b % SIZE], memory_order_relaxed);
    if (t != b) return item;
    if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed)) item = EMPTY;
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    return item;
}

int steal(void) {
    size_t t = atomic_load_explicit(&top, memory_order_acquire);
    atomic_thread_fence(memory_order_seq_cst);
    size_t b = atomic_load_explicit(&bottom, memory_order_acquire);
    if ((long)t >= (long)b) return EMPTY;
    int item = atomic_load_explicit(&items[t % SIZE], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed)) return ABORT;
    return item;
}

int got[3];

void *thief(void *unused) {
    for (int i = 0; i < 2; i++) {
        int item = steal();
        if (item > 0) got[0] += item;
    }
    return unused;
}

int main(void) {
    pthread_t t;
    push(1);
    pthread_create(&t, 0, thief, 0);
    push(2);
    int first = take(), second = take();
    pthread_join(t, 0);
    assert(got[0] + (first > 0 ? first : 0) + (second > 0 ? second : 0) == 3);
    return 0;
}
