/* What compiled C++ calls: guards of local statics, `new` and `delete`, exceptions, variables of threads with
   destructors; and functions of the standard library that are compiled without frame pointers, so that a step in
   them has the place of the call. Compiled with unwind tables: exceptions pass through. */

#include "shim.h"

#include <unwind.h>

/* shared_ptr asks whether there are threads, and counts without atomic operations if there are none. */
char __libc_single_threaded = 0;

/* Guards. Compiled code reads the first byte with an atomic load, and calls these if it is 0. */

int __wrap___cxa_guard_acquire(volatile char *guard) {
    if (!IS_CHECKED) return !*guard;
    return (int)OP(OP_ONCE, guard, 1, ONCE_BEGIN, 0);
}
void __wrap___cxa_guard_release(volatile char *guard) {
    OP(OP_ONCE, guard, 1, ONCE_DONE, 0);
    *guard = 1;
}
void __wrap___cxa_guard_abort(volatile char *guard) { OP(OP_ONCE, guard, 1, ONCE_FAILED, 0); }

/* The heap. A new-expression never returns null: the checker gives up instead. */

void *__wrap_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int selvedge_is_early(const void *block);

#define NEW(size, alignment, is_array) \
    (IS_CHECKED ? (void *)OP(OP_MALLOC, (size), (alignment), 0, 1 + (is_array)) : __wrap_aligned_alloc((alignment), (size)))
#define DELETE(block, is_array) \
    do { \
        if (block && !selvedge_is_early(block)) OP(OP_FREE, block, 1 + (is_array), 0, 0); \
    } while (0)

void *__wrap__Znwm(size_t size) { return NEW(size, 16, 0); }
void *__wrap__Znam(size_t size) { return NEW(size, 16, 1); }
void *__wrap__ZnwmRKSt9nothrow_t(size_t size, void *unused) { (void)unused; return NEW(size, 16, 0); }
void *__wrap__ZnamRKSt9nothrow_t(size_t size, void *unused) { (void)unused; return NEW(size, 16, 1); }
void *__wrap__ZnwmSt11align_val_t(size_t size, size_t alignment) { return NEW(size, alignment, 0); }
void *__wrap__ZnamSt11align_val_t(size_t size, size_t alignment) { return NEW(size, alignment, 1); }
void __wrap__ZdlPv(void *block) { DELETE(block, 0); }
void __wrap__ZdaPv(void *block) { DELETE(block, 1); }
void __wrap__ZdlPvm(void *block, size_t size) { (void)size; DELETE(block, 0); }
void __wrap__ZdaPvm(void *block, size_t size) { (void)size; DELETE(block, 1); }
void __wrap__ZdlPvSt11align_val_t(void *block, size_t alignment) { (void)alignment; DELETE(block, 0); }
void __wrap__ZdaPvSt11align_val_t(void *block, size_t alignment) { (void)alignment; DELETE(block, 1); }
void __wrap__ZdlPvmSt11align_val_t(void *block, size_t size, size_t alignment) {
    (void)size, (void)alignment;
    DELETE(block, 0);
}
void __wrap__ZdaPvmSt11align_val_t(void *block, size_t size, size_t alignment) {
    (void)size, (void)alignment;
    DELETE(block, 1);
}

/* Exceptions: where each was thrown, for those that nothing catches. */

__attribute__((noreturn)) void __real___cxa_throw(void *object, void *type, void (*destructor)(void *));
void __wrap___cxa_throw(void *object, void *type, void (*destructor)(void *)) {
    OP(OP_THROW, object, 0, 0, 0);
    __real___cxa_throw(object, type, destructor);
}

/* Variables of a thread with destructors. */

int __wrap___cxa_thread_atexit(void (*destructor)(void *), void *object, void *module) {
    (void)module;
    if (!IS_CHECKED) return 0;
    OP(OP_AT_THREAD_EXIT, destructor, object, 0, 0);
    return 0;
}

/* The end of a thread inside of calls: destructors of their frames run. */

static _Unwind_Reason_Code next_frame(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                      struct _Unwind_Exception *exception, struct _Unwind_Context *context,
                                      void *result) {
    (void)version, (void)class, (void)exception, (void)context;
    if (actions & _UA_END_OF_STACK) {
        OP(OP_EXIT_THREAD, result, 0, 0, 0);
        __builtin_trap();
    }
    return _URC_NO_REASON;
}
void selvedge_unwind(void *result) {
    struct _Unwind_Exception *exception = __wrap_malloc(sizeof *exception);
    if (!exception) return;
    for (size_t i = 0; i < sizeof *exception; i++) ((volatile char *)exception)[i] = 0;
    _Unwind_ForcedUnwind(exception, next_frame, result);
}

/* What `std::atomic<T>::wait` and `notify` come to: see include/bits/atomic_wait.h. */

__attribute__((visibility("default"))) int selvedge_atomic_wait(const volatile void *at, size_t size, const void *seen, int is_timed) {
    return (int)OP(OP_FUTEX_WAIT, at, size, seen, is_timed);
}
__attribute__((visibility("default"))) void selvedge_atomic_notify(const volatile void *at, size_t size, int all) {
    OP(OP_FUTEX_WAKE, at, size, all ? 0x7fffffff : 1, 0);
}

/* What `std::lock` comes to: see include/mutex. */
__attribute__((visibility("default"))) void selvedge_lock_all(void **mutexes, size_t count) {
    OP(OP_LOCK_ALL, mutexes, count, 0, 0);
}

/* Functions of the standard library that are not in its headers. */

#define THROUGH(name) \
    void *__real_##name(void *a, void *b, void *c, void *d, void *e, void *f); \
    void *__wrap_##name(void *a, void *b, void *c, void *d, void *e, void *f) { \
        void *result = __real_##name(a, b, c, d, e, f); \
        __asm__ volatile(""); \
        return result; \
    }

THROUGH(_ZNSt6thread4joinEv)
THROUGH(_ZNSt6thread6detachEv)
THROUGH(_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE)
THROUGH(_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE)
THROUGH(_ZNSt18condition_variable10notify_oneEv)
THROUGH(_ZNSt18condition_variable10notify_allEv)
THROUGH(_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE)
THROUGH(_ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj)

/* The compiled part of containers, which links nodes: the word in which a tree begins, and its first, last and root node, are in
   its header, as is the end of a list. A change of a tree counts as a write of the whole header, and a step from a node to the next as a read of
   that node; what is in between is behind the same header. */

#define READS(at, size) ACCESS(at, size, ACCESS_READ)
#define WRITES(at, size) ACCESS(at, size, ACCESS_WRITE)
#define TREE_NODE 32
struct list_node { struct list_node *next, *previous; };

void __real__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(_Bool left, void *node, void *parent, void *header);
void __wrap__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(_Bool left, void *node, void *parent, void *header) {
    WRITES(node, TREE_NODE);
    WRITES(parent, TREE_NODE);
    if (parent != header) WRITES(header, TREE_NODE);
    __real__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(left, node, parent, header);
}
void *__real__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(void *node, void *header);
void *__wrap__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(void *node, void *header) {
    WRITES(node, TREE_NODE);
    WRITES(header, TREE_NODE);
    return __real__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node, header);
}
#define FOLLOWED(name) \
    void *__real_##name(void *node); \
    void *__wrap_##name(void *node) { READS(node, TREE_NODE); return __real_##name(node); }
FOLLOWED(_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base)
FOLLOWED(_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base)
FOLLOWED(_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base)
FOLLOWED(_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base)

void __real__ZNSt8__detail15_List_node_base7_M_hookEPS0_(struct list_node *node, struct list_node *at);
void __wrap__ZNSt8__detail15_List_node_base7_M_hookEPS0_(struct list_node *node, struct list_node *at) {
    WRITES(node, sizeof *node);
    WRITES(&at->previous, sizeof at->previous);
    WRITES(&at->previous->next, sizeof at->next);
    __real__ZNSt8__detail15_List_node_base7_M_hookEPS0_(node, at);
}
void __real__ZNSt8__detail15_List_node_base9_M_unhookEv(struct list_node *node);
void __wrap__ZNSt8__detail15_List_node_base9_M_unhookEv(struct list_node *node) {
    READS(node, sizeof *node);
    WRITES(&node->previous->next, sizeof node->next);
    WRITES(&node->next->previous, sizeof node->previous);
    __real__ZNSt8__detail15_List_node_base9_M_unhookEv(node);
}
void __real__ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(struct list_node *at, struct list_node *first, struct list_node *last);
void __wrap__ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(struct list_node *at, struct list_node *first, struct list_node *last) {
    if (at != last) {
        struct list_node *linked[] = {at, first, last, first->previous, last->previous, at->previous};
        for (int i = 0; i < 6; i++) ACCESS(linked[i], sizeof **linked, ACCESS_WRITE | IN_LOOP);
    }
    __real__ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(at, first, last);
}
void __real__ZNSt8__detail15_List_node_base10_M_reverseEv(struct list_node *list);
void __wrap__ZNSt8__detail15_List_node_base10_M_reverseEv(struct list_node *list) {
    struct list_node *node = list;
    do {
        WRITES(node, sizeof *node);
        node = node->next;
    } while (node != list);
    __real__ZNSt8__detail15_List_node_base10_M_reverseEv(list);
}
void __real__ZNSt8__detail15_List_node_base4swapERS0_S1_(struct list_node *one, struct list_node *other);
void __wrap__ZNSt8__detail15_List_node_base4swapERS0_S1_(struct list_node *one, struct list_node *other) {
    WRITES(one, sizeof *one);
    WRITES(other, sizeof *other);
    __real__ZNSt8__detail15_List_node_base4swapERS0_S1_(one, other);
}
