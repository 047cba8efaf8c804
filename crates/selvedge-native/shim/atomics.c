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
        if (IS_ANSWERED) { \
            a##bits old = 0; \
            u64 told = ATOMIC_AT(DO_##name, at, sizeof *at, order, 0, &value, &old, PC, FRAME); \
            if (!(told & IS_ALONE)) { \
                if (told & IS_NEWEST) *at = (new); \
                return old; \
            } \
        } \
        ACCESS(at, sizeof *at, WITH_ORDER(ACCESS_UPDATE, order)); \
        a##bits old = *at; \
        *at = (new); \
        return old; \
    }

/* One under a memory model. Returns whether others can see it; then the result is in `told`, and what it found in `wanted`. */
#define ANSWERED_CAS(bits) \
    static int answered##bits(int does, volatile a##bits *at, a##bits *wanted, a##bits new, int order, int failure, \
                              u64 *told, void *pc, void *frame) { \
        if (!IS_ANSWERED) return 0; \
        *told = ATOMIC_AT(does, at, sizeof *at, order, failure, &new, wanted, pc, frame); \
        if (*told & IS_ALONE) return 0; \
        if (*told & IS_NEWEST) *at = new; \
        return 1; \
    }

/* A compare-exchange is an update if it succeeds, else a read: the checker looks at what is expected. What is
   found goes to `expected`, which may be shared as well. */
#define CAS(bits, name) \
    int __tsan_atomic##bits##_##name(volatile a##bits *at, a##bits *expected, a##bits new, int order, int failure) { \
        ACCESS(expected, sizeof *expected, ACCESS_READ); \
        a##bits wanted = *expected; \
        u64 told; \
        if (answered##bits(DO_compare, at, &wanted, new, order, failure, &told, PC, FRAME)) { \
            if (told & HAS_SUCCEEDED) return 1; \
            ACCESS(expected, sizeof *expected, ACCESS_FOUND); \
            *expected = wanted; \
            return 0; \
        } \
        OP(OP_COMPARE, at, sizeof *at, &wanted, WITH_ORDER(order & 0xff, failure)); \
        a##bits old = *at; \
        if (old == wanted) { *at = new; return 1; } \
        ACCESS(expected, sizeof *expected, ACCESS_FOUND); \
        *expected = old; \
        return 0; \
    }

/* A weak one may fail although it finds what it expects: then it only reads. */
#define WEAK_CAS(bits) \
    static int weak##bits(volatile a##bits *at, a##bits *expected, a##bits new, int order, int failure, void *pc, \
                          void *frame) { \
        ACCESS_AT(expected, sizeof *expected, ACCESS_READ, pc, frame); \
        a##bits wanted = *expected; \
        u64 told; \
        if (answered##bits(DO_weak_compare, at, &wanted, new, order, failure, &told, pc, frame)) { \
            if (told & HAS_SUCCEEDED) return 1; \
            ACCESS_AT(expected, sizeof *expected, ACCESS_FOUND, pc, frame); \
            *expected = wanted; \
            return 0; \
        } \
        int fails = OP_AT(OP_WHIM, 0, 0, 0, 0, pc, frame) != 0; \
        if (fails) { \
            ACCESS_AT(at, sizeof *at, WITH_ORDER(ACCESS_LOAD, failure), pc, frame); \
        } else { \
            OP_AT(OP_COMPARE, at, sizeof *at, &wanted, WITH_ORDER(order & 0xff, failure), pc, frame); \
        } \
        a##bits old = *at; \
        if (!fails && old == wanted) { *at = new; return 1; } \
        ACCESS_AT(expected, sizeof *expected, ACCESS_FOUND, pc, frame); \
        *expected = old; \
        return 0; \
    } \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile a##bits *at, a##bits *expected, a##bits new, int order, \
                                                    int failure) { \
        return weak##bits(at, expected, new, order, failure, PC, FRAME); \
    }

#define ATOMIC(bits) \
    a##bits __tsan_atomic##bits##_load(const volatile a##bits *at, int order) { \
        if (IS_ANSWERED) { \
            a##bits seen = 0; \
            u64 told = ATOMIC_AT(DO_load, at, sizeof *at, order, 0, 0, &seen, PC, FRAME); \
            if (!(told & IS_ALONE)) return seen; \
        } \
        ACCESS(at, sizeof *at, WITH_ORDER(ACCESS_LOAD, order)); \
        return *at; \
    } \
    void __tsan_atomic##bits##_store(volatile a##bits *at, a##bits value, int order) { \
        if (IS_ANSWERED) { \
            u64 told = ATOMIC_AT(DO_store, at, sizeof *at, order, 0, &value, 0, PC, FRAME); \
            if (!(told & IS_ALONE)) { \
                if (told & IS_NEWEST) *at = value; \
                return; \
            } \
        } \
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
    ANSWERED_CAS(bits) \
    CAS(bits, compare_exchange_strong) \
    WEAK_CAS(bits) \
    a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *at, a##bits expected, a##bits new, \
                                                       int order, int failure) { \
        a##bits wanted = expected; \
        u64 told; \
        if (answered##bits(DO_compare, at, &wanted, new, order, failure, &told, PC, FRAME)) return wanted; \
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

void *__real_memcpy(void *to, const void *from, size_t size);
int __real_memcmp(const void *a, const void *b, size_t size);

/* One of any size, which is a strong one. */
static int compare(size_t size, void *at, void *expected, const void *new, int order, int failure, void *pc, void *frame) {
    ACCESS_AT(expected, size, ACCESS_READ, pc, frame);
    OP_AT(OP_COMPARE, at, size, expected, WITH_ORDER(order & 0xff, failure), pc, frame);
    if (__real_memcmp(at, expected, size) == 0) { __real_memcpy(at, new, size); return 1; }
    ACCESS_AT(expected, size, ACCESS_FOUND, pc, frame);
    __real_memcpy(expected, at, size);
    return 0;
}

/* What clang is given for weak compare-exchanges, whose instrumentation has no way to fail spuriously. */
int selvedge_compare_exchange_weak(void *at, void *expected, const void *new, size_t size, int order, int failure) {
    switch (size) {
    case 1: return weak8(at, expected, *(const a8 *)new, order, failure, PC, FRAME);
    case 2: return weak16(at, expected, *(const a16 *)new, order, failure, PC, FRAME);
    case 4: return weak32(at, expected, *(const a32 *)new, order, failure, PC, FRAME);
    case 8: return weak64(at, expected, *(const a64 *)new, order, failure, PC, FRAME);
    case 16: return weak128(at, expected, *(const a128 *)new, order, failure, PC, FRAME);
    default: return compare(size, at, expected, new, order, failure, PC, FRAME);
    }
}

void __tsan_atomic_thread_fence(int order) { if (order & 0xff) OP(OP_FENCE, order & 0xff, 0, 0, 0); }
void __tsan_atomic_signal_fence(int order) { (void)order; }

/* Objects that no instruction can access at once: the compiler calls these by other names, which C cannot define; the
   linker gives them theirs. */

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
    return compare(size, at, expected, new, order, failure, PC, FRAME);
}
int selvedge_atomic_is_lock_free(size_t size, const void *at) { (void)size, (void)at; return 0; }
