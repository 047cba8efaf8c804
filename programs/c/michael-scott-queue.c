// The queue of Michael and Scott (1996): a list with a dummy node; the tail may lag behind, and whichever thread notices moves
// it on. One thread puts two items in, another takes one out. Nodes are freed at the end: a thread may still look at one
// that was taken out.
//
//# verdict: verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct node {
    int value;
    _Atomic(struct node *) next;
};

_Atomic(struct node *) head, tail;

static struct node *new_node(int value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    atomic_init(&node->next, 0);
    return node;
}

void enqueue(int value) {
    struct node *node = new_node(value);
    for (;;) {
        struct node *last = atomic_load(&tail);
        struct node *next = atomic_load(&last->next);
        if (last != atomic_load(&tail)) continue;
        if (next) {
            atomic_compare_exchange_strong(&tail, &last, next);
        } else if (atomic_compare_exchange_strong(&last->next, &next, node)) {
            atomic_compare_exchange_strong(&tail, &last, node);
            return;
        }
    }
}

bool dequeue(int *value) {
    for (;;) {
        struct node *first = atomic_load(&head);
        struct node *last = atomic_load(&tail);
        struct node *next = atomic_load(&first->next);
        if (first != atomic_load(&head)) continue;
        if (!next) return false;
        if (first == last) {
            atomic_compare_exchange_strong(&tail, &last, next);
        } else {
            *value = next->value;
            if (atomic_compare_exchange_strong(&head, &first, next)) return true;
        }
    }
}

void *producer(void *unused) {
    enqueue(1);
    enqueue(2);
    return unused;
}

void *consumer(void *unused) {
    int value;
    if (dequeue(&value)) assert(value == 1);
    return unused;
}

int main(void) {
    pthread_t p, c;
    struct node *dummy = new_node(0);
    atomic_init(&head, dummy);
    atomic_init(&tail, dummy);
    pthread_create(&p, 0, producer, 0);
    pthread_create(&c, 0, consumer, 0);
    pthread_join(p, 0);
    pthread_join(c, 0);
    int value;
    assert(dequeue(&value) && (value == 1 || value == 2));
    for (struct node *node = dummy, *next; node; node = next) {
        next = atomic_load(&node->next);
        free(node);
    }
    return 0;
}
