/* Atomic operations: announced, then done. One thread of the system runs them all, one at a time. */

#include "shim.h"

#include <stdbool.h>

typedef unsigned char a8;
typedef unsigned short a16;
typedef unsigned int a32;
typedef unsigned long a64;
typedef unsigned __int128 a128;

#define RMW(bits, name, new) \
    a##bits __tsan_atomic##bits##_##name(volatile a##bits *at, a##bits value, int order) { \
        ACCESS(at, sizeof *at, WITH_ORDER(ACCESS_UPDATE, order)); \
        a##bits old = *at; \
        *at = (new); \
        return old; \
    }

/* A compare-exchange is an update if it succeeds, else a read: the checker looks at what is expected. What is
   found goes to `expected`, which may be shared as well. */
#define CAS(bits, name) \
    int __tsan_atomic##bits##_##name(volatile a##bits *at, a##bits *expected, a##bits new, int order, int failure) { \
        ACCESS(expected, sizeof *expected, ACCESS_READ); \
        a##bits wanted = *expected; \
        OP(OP_COMPARE, at, sizeof *at, &wanted, WITH_ORDER(order & 0xff, failure)); \
        a##bits old = *at; \
        if (old == wanted) { *at = new; return 1; } \
        ACCESS(expected, sizeof *expected, ACCESS_WRITE); \
        *expected = old; \
        return 0; \
    }

#define ATOMIC(bits) \
    a##bits __tsan_atomic##bits##_load(const volatile a##bits *at, int order) { \
        ACCESS(at, sizeof *at, WITH_ORDER(ACCESS_LOAD, order)); \
        return *at; \
    } \
    void __tsan_atomic##bits##_store(volatile a##bits *at, a##bits value, int order) { \
        ACCESS(at, sizeof *at, WITH_ORDER(ACCESS_STORE, order)); \
        *at = value; \
    } \
    RMW(bits, exchange, value) \
    RMW(bits, fetch_add, old + value) \
    RMW(bits, fetch_sub, old - value) \
    RMW(bits, fetch_and, old & value) \
    RMW(bits, fetch_or, old | value) \
    RMW(bits, fetch_xor, old ^ value) \
    RMW(bits, fetch_nand, ~(old & value)) \
    CAS(bits, compare_exchange_strong) \
    CAS(bits, compare_exchange_weak) \
    a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *at, a##bits expected, a##bits new, \
                                                       int order, int failure) { \
        OP(OP_COMPARE, at, sizeof *at, &expected, WITH_ORDER(order & 0xff, failure)); \
        a##bits old = *at; \
        if (old == expected) *at = new; \
        return old; \
    }

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
ATOMIC(128)

void __tsan_atomic_thread_fence(int order) { if (order & 0xff) OP(OP_FENCE, order & 0xff, 0, 0, 0); }
void __tsan_atomic_signal_fence(int order) { (void)order; }

/* Objects that no instruction can access at once: the compiler calls these by other names, which C cannot define; the
   linker gives them theirs. */

void *__real_memcpy(void *to, const void *from, size_t size);
int __real_memcmp(const void *a, const void *b, size_t size);

void selvedge_atomic_load(size_t size, const void *at, void *to, int order) {
    ACCESS(to, size, ACCESS_WRITE);
    ACCESS(at, size, WITH_ORDER(ACCESS_LOAD, order));
    __real_memcpy(to, at, size);
}
void selvedge_atomic_store(size_t size, void *at, const void *from, int order) {
    ACCESS(from, size, ACCESS_READ);
    ACCESS(at, size, WITH_ORDER(ACCESS_STORE, order));
    __real_memcpy(at, from, size);
}
void selvedge_atomic_exchange(size_t size, void *at, const void *from, void *to, int order) {
    ACCESS(from, size, ACCESS_READ);
    ACCESS(to, size, ACCESS_WRITE);
    ACCESS(at, size, WITH_ORDER(ACCESS_UPDATE, order));
    for (size_t i = 0; i < size; i++) {
        char old = ((char *)at)[i];
        ((char *)at)[i] = ((const char *)from)[i];
        ((char *)to)[i] = old;
    }
}
int selvedge_atomic_compare_exchange(size_t size, void *at, void *expected, const void *new, int order, int failure) {
    ACCESS(expected, size, ACCESS_READ);
    OP(OP_COMPARE, at, size, expected, WITH_ORDER(order & 0xff, failure));
    if (__real_memcmp(at, expected, size) == 0) { __real_memcpy(at, new, size); return 1; }
    ACCESS(expected, size, ACCESS_WRITE);
    __real_memcpy(expected, at, size);
    return 0;
}
int selvedge_atomic_is_lock_free(size_t size, const void *at) { (void)size, (void)at; return 0; }
