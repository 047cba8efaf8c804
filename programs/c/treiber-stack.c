// Treiber's stack (1986) on the heap: two threads push, a third pops twice and frees what it got. A thread that pops
// while it is the only one that frees never touches freed memory.
//
//# verdict: verified

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};

_Atomic(struct node *) head;

void *pusher(void *value) {
    struct node *node = malloc(sizeof *node);
    node->value = *(int *)value;
    do {
        node->next = atomic_load(&head);
    } while (!atomic_compare_exchange_strong(&head, &node->next, node));
    return 0;
}

int popped;

void *popper(void *unused) {
    for (int i = 0; i < 2; i++) {
        struct node *top = atomic_load(&head);
        while (top && !atomic_compare_exchange_strong(&head, &top, top->next)) {
        }
        if (top) {
            popped += top->value;
            free(top);
        }
    }
    return unused;
}

int main(void) {
    int one = 1, two = 2;
    pthread_t a, b, c;
    pthread_create(&a, 0, pusher, &one);
    pthread_create(&b, 0, pusher, &two);
    pthread_create(&c, 0, popper, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    int left = 0;
    for (struct node *node = head; node; node = node->next) left += node->value;
    assert(left + popped == 3);
    return 0;
}
