/* Atomic operations: announced, then done. One thread of the system runs them all, one at a time. */

#include "shim.h"

#include <stdbool.h>

typedef unsigned char a8;
typedef unsigned short a16;
typedef unsigned int a32;
typedef unsigned long a64;
typedef unsigned __int128 a128;

#define SEQ_CST 5
#define ORDERED(strong, weak) (order == SEQ_CST ? (strong) : (weak))

#define RMW(bits, name, new) \
    a##bits __tsan_atomic##bits##_##name(volatile a##bits *at, a##bits value, int order) { \
        ACCESS(at, sizeof *at, ORDERED(ACCESS_UPDATE, ACCESS_WEAK_UPDATE)); \
        a##bits old = *at; \
        *at = (new); \
        return old; \
    }

/* A compare-exchange is an update if it succeeds, else a read: the checker looks at what is expected. What is
   found goes to `expected`, which may be shared as well. */
#define CAS(bits, name) \
    int __tsan_atomic##bits##_##name(volatile a##bits *at, a##bits *expected, a##bits new, int order, int failure) { \
        (void)failure; \
        a##bits wanted = *expected; \
        OP(OP_COMPARE, at, sizeof *at, &wanted, order == SEQ_CST); \
        a##bits old = *at; \
        if (old == wanted) { *at = new; return 1; } \
        ACCESS(expected, sizeof *expected, ACCESS_WRITE); \
        *expected = old; \
        return 0; \
    }

#define ATOMIC(bits) \
    a##bits __tsan_atomic##bits##_load(const volatile a##bits *at, int order) { \
        ACCESS(at, sizeof *at, ORDERED(ACCESS_LOAD, ACCESS_WEAK_LOAD)); \
        return *at; \
    } \
    void __tsan_atomic##bits##_store(volatile a##bits *at, a##bits value, int order) { \
        ACCESS(at, sizeof *at, ORDERED(ACCESS_STORE, ACCESS_WEAK_STORE)); \
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
        (void)failure; \
        OP(OP_COMPARE, at, sizeof *at, &expected, order == SEQ_CST); \
        a##bits old = *at; \
        if (old == expected) *at = new; \
        return old; \
    }

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
ATOMIC(128)

void __tsan_atomic_thread_fence(int order) { (void)order; }
void __tsan_atomic_signal_fence(int order) { (void)order; }
