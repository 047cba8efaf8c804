/* What the parts of the shim share: the table that the checker fills, and the codes of operations.

   The shim is linked into every module. It has no state of its own but for what lies in the module's image, which the
   checker restores, and it touches nothing shared outside of an announced operation. */

#ifndef SELVEDGE_SHIM_H
#define SELVEDGE_SHIM_H

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

typedef uint64_t u64;

/* The checker's functions. They are null while static constructors run, which are sequential. */
struct selvedge_table {
    /* An operation other than an access to memory: its code, where it is, the frame that calls it, its arguments. */
    u64 (*op)(u64 code, void *pc, void *frame, u64 a, u64 b, u64 c, u64 d);
    /* An access to `size` bytes: how is one of the ACCESS codes. */
    void (*access)(u64 address, u64 size, u64 how, void *pc, void *frame);
    /* Whether atomic operations are answered under a memory model. */
    u64 is_answered;
};

extern struct selvedge_table selvedge_table;

/* How memory is accessed. The checker has the same numbers, and a test compares them. */
enum {
    ACCESS_READ = 0,
    ACCESS_WRITE = 1,
    ACCESS_VOLATILE_READ = 2,
    ACCESS_VOLATILE_WRITE = 3,
    ACCESS_LOAD = 4,
    ACCESS_STORE = 5,
    ACCESS_UPDATE = 6,
    /* A compare-exchange writes what it found to where its caller had what it expected. */
    ACCESS_FOUND = 7,
};
/* An atomic access has its memory ordering in the next byte, with the compiler's numbers. */
#define WITH_ORDER(how, order) ((u64)(how) | (u64)((order) & 0xff) << 8)
#define SEQ_CST 5
/* An access of a loop of the shim itself: the code that called it stands still meanwhile, and is not compared there. */
#define IN_LOOP ((u64)1 << 16)
/* Each access of the shim has a number of its own in the upper half: one function may access the same memory more than once for the same
   code of the program, which does not come round in between. */
#define WITH_SITE(how) ((u64)(how) | (u64)(__COUNTER__ + 1) << 32)

/* Operations. */
enum {
    OP_COMPARE = 1,
    OP_CREATE = 2,
    OP_JOIN = 3,
    OP_TRY_JOIN = 4,
    OP_TIMED_JOIN = 5,
    OP_DETACH = 6,
    OP_EXIT_THREAD = 7,
    OP_SELF = 8,
    OP_NAME = 9,
    OP_MUTEX_INIT = 10,
    OP_MUTEX_DESTROY = 11,
    OP_MUTEX_LOCK = 12,
    OP_MUTEX_TRY = 13,
    OP_MUTEX_TIMED = 14,
    OP_MUTEX_UNLOCK = 15,
    OP_COND_INIT = 16,
    OP_COND_DESTROY = 17,
    OP_COND_WAIT = 18,
    OP_COND_TIMED = 19,
    OP_COND_SIGNAL = 20,
    OP_COND_BROADCAST = 21,
    OP_RW_INIT = 22,
    OP_RW_DESTROY = 23,
    OP_RW_READ = 24,
    OP_RW_WRITE = 25,
    OP_RW_TRY_READ = 26,
    OP_RW_TRY_WRITE = 27,
    OP_RW_TIMED_READ = 28,
    OP_RW_TIMED_WRITE = 29,
    OP_RW_UNLOCK = 30,
    OP_SEM_INIT = 31,
    OP_SEM_DESTROY = 32,
    OP_SEM_WAIT = 33,
    OP_SEM_TRY = 34,
    OP_SEM_TIMED = 35,
    OP_SEM_POST = 36,
    OP_SEM_VALUE = 37,
    OP_BARRIER_INIT = 38,
    OP_BARRIER_DESTROY = 39,
    OP_BARRIER_WAIT = 40,
    OP_ONCE = 41,
    OP_KEY_CREATE = 42,
    OP_KEY_DELETE = 43,
    OP_KEY_SET = 44,
    OP_KEY_GET = 45,
    OP_MALLOC = 46,
    OP_FREE = 47,
    OP_REALLOC = 48,
    OP_USABLE = 49,
    OP_FAIL = 50,
    OP_EXIT = 51,
    OP_ASSUME = 52,
    OP_CHOOSE = 53,
    OP_NONDET = 54,
    OP_OUTPUT = 55,
    OP_REFUSE = 56,
    OP_TLS = 57,
    OP_CLOCK = 58,
    OP_RANDOM = 59,
    OP_SLEEP = 60,
    OP_FENCE = 61,
    OP_FUTEX_WAIT = 62,
    OP_FUTEX_WAKE = 63,
    OP_EXIT_LIST = 64,
    OP_AT_THREAD_EXIT = 65,
    OP_THREAD_EXITS = 66,
    OP_THROW = 67,
    OP_UNCAUGHT = 68,
    OP_LOCK_ALL = 69,
    OP_WHIM = 70,
    OP_ATOMIC = 71,
};

/* What OP_ATOMIC does. The checker has the same numbers. */
enum {
    DO_load = 0,
    DO_store = 1,
    DO_exchange = 2,
    DO_fetch_add = 3,
    DO_fetch_sub = 4,
    DO_fetch_and = 5,
    DO_fetch_or = 6,
    DO_fetch_xor = 7,
    DO_fetch_nand = 8,
    DO_compare = 9,
    DO_weak_compare = 10,
};
/* What it returns: the value is the newest, and goes to memory; a compare-exchange succeeded; no other thread sees the memory, and
   the operation is done in it. */
enum { IS_NEWEST = 1, HAS_SUCCEEDED = 2, IS_ALONE = 4 };
#define ATOMIC_AT(does, at, size, order, failure, operand, seen, pc, frame) \
    OP_AT(OP_ATOMIC, at, (u64)(size) | (u64)(does) << 8 | (u64)((order) & 0xff) << 16 | (u64)((failure) & 0xff) << 24, \
          operand, seen, pc, frame)
#define IS_ANSWERED (selvedge_table.is_answered != 0)

/* The argument of OP_ONCE. */
enum { ONCE_BEGIN = 0, ONCE_DONE = 1, ONCE_FAILED = 2 };

/* Callee-saved registers are pushed right below the frame: the checker compares them to see whether a loop
   comes back to the same state. */
#define FRAME (__builtin_unwind_init(), __builtin_frame_address(0))
#define PC __builtin_return_address(0)
/* In the second word of a semaphore or a barrier that was initialised before the check; its number is in the third. */
#define EARLY 0x5e1fea51u
#define IS_CHECKED (selvedge_table.op != 0)
#define OP_AT(code, a, b, c, d, pc, frame) \
    (IS_CHECKED ? selvedge_table.op((code), (pc), (frame), (u64)(a), (u64)(b), (u64)(c), (u64)(d)) : 0)
#define OP(code, a, b, c, d) OP_AT(code, a, b, c, d, PC, FRAME)
#define ACCESS_AT(address, size, how, pc, frame) \
    do { \
        if (IS_CHECKED) selvedge_table.access((u64)(address), (u64)(size), WITH_SITE(how), (pc), (frame)); \
    } while (0)
#define ACCESS(address, size, how) ACCESS_AT(address, size, how, PC, FRAME)

#endif
