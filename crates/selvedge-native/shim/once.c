/* What is done once. The function may throw: then it was not done, and the next thread tries. So this file, unlike the
   others, is compiled with unwind tables and calls cleanups. */

#include "shim.h"

#include <pthread.h>
#include <threads.h>

struct beginning {
    void *once;
    void *pc;
    int is_done;
};

static void ends(struct beginning *beginning) {
    if (!IS_CHECKED) return;
    int how = beginning->is_done ? ONCE_DONE : ONCE_FAILED;
    selvedge_table.op(OP_ONCE, beginning->pc, FRAME, (u64)beginning->once, sizeof(pthread_once_t), (u64)how, 0);
}

static void run(void *once, void (*start)(void), void *pc) {
    __attribute__((cleanup(ends))) struct beginning beginning = {once, pc, 0};
    start();
    beginning.is_done = 1;
}

int __wrap_pthread_once(pthread_once_t *once, void (*start)(void)) {
    if (!IS_CHECKED) {
        if (!*once) { start(); *once = 2; }
        return 0;
    }
    /* Done before the check began. */
    if (*(volatile pthread_once_t *)once == 2) return 0;
    if (OP(OP_ONCE, once, sizeof *once, ONCE_BEGIN, 0)) run(once, start, PC);
    return 0;
}
void __wrap_call_once(once_flag *once, void (*start)(void)) { __wrap_pthread_once((pthread_once_t *)once, start); }
