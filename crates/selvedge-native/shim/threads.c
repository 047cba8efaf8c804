/* Threads and what they synchronise with: POSIX, C11 and semaphores. The checker has their states. */

#include "shim.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>

int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __real_mtx_init(mtx_t *mutex, int type);

/* When the time of an operation is up, the clock of its thread shows it. */
static int timed(int result, const struct timespec *until) {
    if (result == ETIMEDOUT && until) {
        OP(OP_CLOCK, (u64)until->tv_sec * 1000000000 + (u64)until->tv_nsec, 0, 0, 0);
    }
    return result;
}

/* Threads. */

__attribute__((noreturn)) void selvedge_cannot_load(const char *text);
static const char before_main[] =
    "inconclusive: a constructor of a static variable starts a thread, and what runs before main is not checked\n"
    "  start it in main, or in a function that main calls\n";

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    int detached = 0;
    if (attributes) pthread_attr_getdetachstate(attributes, &detached);
    if (!IS_CHECKED) selvedge_cannot_load(before_main);
    return OP(OP_CREATE, start, argument, thread, detached == PTHREAD_CREATE_DETACHED);
}
/* Threads have the system's usual stacks. */
int __real_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size) {
    if (size > (8 << 20)) OP(OP_REFUSE, "pthread_attr_setstacksize with more than 8 MiB", 0, 0, 0);
    return __real_pthread_attr_setstacksize(attributes, size);
}
int __wrap_pthread_join(pthread_t thread, void **result) { return OP(OP_JOIN, thread, result, 8, 0); }
int __wrap_pthread_tryjoin_np(pthread_t thread, void **result) { return OP(OP_TRY_JOIN, thread, result, 8, 0); }
int __wrap_pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until) {
    return timed(OP(OP_TIMED_JOIN, thread, result, 8, 0), until);
}
int __wrap_pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *until) {
    (void)clock;
    return timed(OP(OP_TIMED_JOIN, thread, result, 8, 0), until);
}
int __wrap_pthread_detach(pthread_t thread) { return OP(OP_DETACH, thread, 0, 0, 0); }
pthread_t __wrap_pthread_self(void) { return OP(OP_SELF, 0, 0, 0, 0); }
int __wrap_pthread_setname_np(pthread_t thread, const char *name) { return OP(OP_NAME, thread, name, 0, 0); }
int __wrap_pthread_setcancelstate(int state, int *before) {
    (void)state;
    if (before) *before = PTHREAD_CANCEL_ENABLE;
    return 0;
}
int __wrap_pthread_setcanceltype(int type, int *before) {
    (void)type;
    if (before) *before = PTHREAD_CANCEL_DEFERRED;
    return 0;
}
void __wrap_pthread_testcancel(void) {}
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set) {
    (void)thread, (void)size, (void)set;
    return 0;
}

int __wrap_thrd_create(thrd_t *thread, thrd_start_t start, void *argument) {
    if (!IS_CHECKED) selvedge_cannot_load(before_main);
    return OP(OP_CREATE, start, argument, thread, 0) ? thrd_error : thrd_success;
}
int __wrap_thrd_join(thrd_t thread, int *result) { return OP(OP_JOIN, thread, result, 4, 0) ? thrd_error : thrd_success; }
int __wrap_thrd_detach(thrd_t thread) { return OP(OP_DETACH, thread, 0, 0, 0) ? thrd_error : thrd_success; }
void __wrap_thrd_exit(int result) { OP(OP_EXIT_THREAD, (u64)(long)result, 0, 0, 0); __builtin_trap(); }
thrd_t __wrap_thrd_current(void) { return OP(OP_SELF, 0, 0, 0, 0); }
void __wrap_thrd_yield(void) {}

int __wrap_sched_yield(void) { return 0; }
int __wrap_pthread_yield(void) { return 0; }

/* Mutexes. The kind lies where libc keeps it, so that static initialisers work. */

#define KIND(mutex) ((mutex)->__data.__kind & 3)
#define MUTEX(code, mutex) OP(code, mutex, sizeof(pthread_mutex_t), KIND((pthread_mutex_t *)(mutex)), 0)

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    OP(OP_MUTEX_INIT, mutex, sizeof *mutex, 0, 0);
    return __real_pthread_mutex_init(mutex, attributes);
}
/* A mutex that is destroyed is marked as libc does it, until it is initialised again, by whatever means. */
int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex) {
    int result = MUTEX(OP_MUTEX_DESTROY, mutex);
    if (!result) mutex->__data.__kind = -1;
    return result;
}
/* With these, threads would wait and end in ways that are not modelled. */
int __real_pthread_mutexattr_setrobust(pthread_mutexattr_t *attributes, int robust);
int __wrap_pthread_mutexattr_setrobust(pthread_mutexattr_t *attributes, int robust) {
    if (robust == PTHREAD_MUTEX_ROBUST) OP(OP_REFUSE, "pthread_mutexattr_setrobust", 0, 0, 0);
    return __real_pthread_mutexattr_setrobust(attributes, robust);
}
int __real_pthread_rwlockattr_setkind_np(pthread_rwlockattr_t *attributes, int kind);
int __wrap_pthread_rwlockattr_setkind_np(pthread_rwlockattr_t *attributes, int kind) {
    if (kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) OP(OP_REFUSE, "pthread_rwlockattr_setkind_np", 0, 0, 0);
    return __real_pthread_rwlockattr_setkind_np(attributes, kind);
}
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) { return MUTEX(OP_MUTEX_LOCK, mutex); }
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) { return MUTEX(OP_MUTEX_TRY, mutex); }
int __wrap_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    return timed(MUTEX(OP_MUTEX_TIMED, mutex), until);
}
int __wrap_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    (void)clock;
    return timed(MUTEX(OP_MUTEX_TIMED, mutex), until);
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) { return MUTEX(OP_MUTEX_UNLOCK, mutex); }

#define C11(result) ((result) == 0 ? thrd_success : (result) == EBUSY ? thrd_busy : (result) == ETIMEDOUT ? thrd_timedout : thrd_error)

int __wrap_mtx_init(mtx_t *mutex, int type) {
    OP(OP_MUTEX_INIT, mutex, sizeof *mutex, 0, 0);
    return __real_mtx_init(mutex, type);
}
void __wrap_mtx_destroy(mtx_t *mutex) {
    if (!MUTEX(OP_MUTEX_DESTROY, mutex)) ((pthread_mutex_t *)mutex)->__data.__kind = -1;
}
int __wrap_mtx_lock(mtx_t *mutex) { int result = MUTEX(OP_MUTEX_LOCK, mutex); return C11(result); }
int __wrap_mtx_trylock(mtx_t *mutex) { int result = MUTEX(OP_MUTEX_TRY, mutex); return C11(result); }
int __wrap_mtx_timedlock(mtx_t *mutex, const struct timespec *until) {
    int result = timed(MUTEX(OP_MUTEX_TIMED, mutex), until);
    return C11(result);
}
int __wrap_mtx_unlock(mtx_t *mutex) { int result = MUTEX(OP_MUTEX_UNLOCK, mutex); return C11(result); }

/* A spin lock is a mutex whose holder must not take it again. */
int __wrap_pthread_spin_init(pthread_spinlock_t *lock, int shared) {
    (void)shared;
    OP(OP_MUTEX_INIT, lock, sizeof *lock, 0, 0);
    *lock = 1;
    return 0;
}
int __wrap_pthread_spin_destroy(pthread_spinlock_t *lock) { return OP(OP_MUTEX_DESTROY, lock, sizeof *lock, 0, 0); }
int __wrap_pthread_spin_lock(pthread_spinlock_t *lock) { return OP(OP_MUTEX_LOCK, lock, sizeof *lock, 0, 0); }
int __wrap_pthread_spin_trylock(pthread_spinlock_t *lock) { return OP(OP_MUTEX_TRY, lock, sizeof *lock, 0, 0); }
int __wrap_pthread_spin_unlock(pthread_spinlock_t *lock) { return OP(OP_MUTEX_UNLOCK, lock, sizeof *lock, 0, 0); }

/* Condition variables. */

#define COND(code, cond) OP(code, cond, sizeof(pthread_cond_t), 0, 0)
#define WAIT(code, cond, mutex) OP(code, cond, mutex, KIND((pthread_mutex_t *)(mutex)), 0)

int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes) {
    (void)attributes;
    return COND(OP_COND_INIT, cond);
}
int __wrap_pthread_cond_destroy(pthread_cond_t *cond) { return COND(OP_COND_DESTROY, cond); }
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) { return WAIT(OP_COND_WAIT, cond, mutex); }
static int is_no_time(const struct timespec *until) { return until->tv_nsec < 0 || until->tv_nsec >= 1000000000; }
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
    if (is_no_time(until)) return EINVAL;
    return timed(WAIT(OP_COND_TIMED, cond, mutex), until);
}
int __wrap_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *until) {
    (void)clock;
    if (is_no_time(until)) return EINVAL;
    return timed(WAIT(OP_COND_TIMED, cond, mutex), until);
}
int __wrap_pthread_cond_signal(pthread_cond_t *cond) { return COND(OP_COND_SIGNAL, cond); }
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond) { return COND(OP_COND_BROADCAST, cond); }

int __wrap_cnd_init(cnd_t *cond) { return COND(OP_COND_INIT, cond); }
void __wrap_cnd_destroy(cnd_t *cond) { COND(OP_COND_DESTROY, cond); }
int __wrap_cnd_wait(cnd_t *cond, mtx_t *mutex) { int result = WAIT(OP_COND_WAIT, cond, mutex); return C11(result); }
int __wrap_cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *until) {
    int result = timed(WAIT(OP_COND_TIMED, cond, mutex), until);
    return C11(result);
}
int __wrap_cnd_signal(cnd_t *cond) { return COND(OP_COND_SIGNAL, cond); }
int __wrap_cnd_broadcast(cnd_t *cond) { return COND(OP_COND_BROADCAST, cond); }

/* Reader-writer locks. */

#define RW(code, lock) OP(code, lock, sizeof(pthread_rwlock_t), 0, 0)

int __wrap_pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
    (void)attributes;
    return RW(OP_RW_INIT, lock);
}
int __wrap_pthread_rwlock_destroy(pthread_rwlock_t *lock) { return RW(OP_RW_DESTROY, lock); }
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *lock) { return RW(OP_RW_READ, lock); }
int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *lock) { return RW(OP_RW_WRITE, lock); }
int __wrap_pthread_rwlock_tryrdlock(pthread_rwlock_t *lock) { return RW(OP_RW_TRY_READ, lock); }
int __wrap_pthread_rwlock_trywrlock(pthread_rwlock_t *lock) { return RW(OP_RW_TRY_WRITE, lock); }
int __wrap_pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until) {
    return timed(RW(OP_RW_TIMED_READ, lock), until);
}
int __wrap_pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until) {
    return timed(RW(OP_RW_TIMED_WRITE, lock), until);
}
int __wrap_pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until) {
    (void)clock;
    return timed(RW(OP_RW_TIMED_READ, lock), until);
}
int __wrap_pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until) {
    (void)clock;
    return timed(RW(OP_RW_TIMED_WRITE, lock), until);
}
int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *lock) { return RW(OP_RW_UNLOCK, lock); }

/* Semaphores: they report errors in `errno`. */

#define SEM(code, semaphore) OP(code, semaphore, sizeof(sem_t), 0, 0)

static int failed(int error) {
    if (!error) return 0;
    errno = error;
    return -1;
}
/* What a constructor initialises before the check begins: the checker finds the number in the object. */
static void set_early(void *object, unsigned value) {
    unsigned *words = object;
    words[0] = 0;
    words[1] = EARLY;
    words[2] = value;
}
int __wrap_sem_init(sem_t *semaphore, int shared, unsigned value) {
    (void)shared;
    if (value > SEM_VALUE_MAX) return failed(EINVAL);
    if (!IS_CHECKED) {
        set_early(semaphore, value);
        return 0;
    }
    /* That a count is too large for another post is not modelled. */
    if (value > SEM_VALUE_MAX - 1000000) OP(OP_REFUSE, "sem_init with a count near the largest", 0, 0, 0);
    return failed(OP(OP_SEM_INIT, semaphore, sizeof *semaphore, value, 0));
}
int __wrap_sem_destroy(sem_t *semaphore) { return failed(SEM(OP_SEM_DESTROY, semaphore)); }
int __wrap_sem_wait(sem_t *semaphore) {
    if (!IS_CHECKED && !((unsigned *)semaphore)[2]--) selvedge_cannot_load(before_main);
    return failed(SEM(OP_SEM_WAIT, semaphore));
}
int __wrap_sem_trywait(sem_t *semaphore) { return failed(SEM(OP_SEM_TRY, semaphore)); }
int __wrap_sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    return failed(timed(SEM(OP_SEM_TIMED, semaphore), until));
}
int __wrap_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until) {
    (void)clock;
    return failed(timed(SEM(OP_SEM_TIMED, semaphore), until));
}
int __wrap_sem_post(sem_t *semaphore) {
    if (!IS_CHECKED) ((unsigned *)semaphore)[2]++;
    return failed(SEM(OP_SEM_POST, semaphore));
}
int __wrap_sem_getvalue(sem_t *semaphore, int *value) {
    int now = SEM(OP_SEM_VALUE, semaphore);
    ACCESS(value, sizeof *value, ACCESS_WRITE);
    *value = now;
    return 0;
}

/* Barriers. */

int __wrap_pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count) {
    (void)attributes;
    if (!IS_CHECKED) {
        if (!count) return EINVAL;
        set_early(barrier, count);
        return 0;
    }
    return OP(OP_BARRIER_INIT, barrier, sizeof *barrier, count, 0);
}
int __wrap_pthread_barrier_destroy(pthread_barrier_t *barrier) {
    return OP(OP_BARRIER_DESTROY, barrier, sizeof *barrier, 0, 0);
}
int __wrap_pthread_barrier_wait(pthread_barrier_t *barrier) {
    return (int)OP(OP_BARRIER_WAIT, barrier, sizeof *barrier, 0, 0);
}

/* Values of each thread. */

int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
    if (!IS_CHECKED) return EAGAIN;
    u64 made = OP(OP_KEY_CREATE, destructor, 0, 0, 0);
    ACCESS(key, sizeof *key, ACCESS_WRITE);
    *key = made;
    return 0;
}
int __wrap_pthread_key_delete(pthread_key_t key) { return OP(OP_KEY_DELETE, key, 0, 0, 0); }
int __wrap_pthread_setspecific(pthread_key_t key, const void *value) { return OP(OP_KEY_SET, key, value, 0, 0); }
void *__wrap_pthread_getspecific(pthread_key_t key) { return (void *)OP(OP_KEY_GET, key, 0, 0, 0); }
int __wrap_tss_create(tss_t *key, tss_dtor_t destructor) {
    return __wrap_pthread_key_create((pthread_key_t *)key, destructor) ? thrd_error : thrd_success;
}
void __wrap_tss_delete(tss_t key) { OP(OP_KEY_DELETE, key, 0, 0, 0); }
int __wrap_tss_set(tss_t key, void *value) { return OP(OP_KEY_SET, key, value, 0, 0) ? thrd_error : thrd_success; }
void *__wrap_tss_get(tss_t key) { return (void *)OP(OP_KEY_GET, key, 0, 0, 0); }

/* Futexes: `syscall` is called with up to six arguments, all of them numbers. */

enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_WAIT_BITSET = 9, FUTEX_WAKE_BITSET = 10, FUTEX_FLAGS = 128 | 256 };

static const u64 second = 1000000000;

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    (void)e;
    if (number == SYS_gettid) return 4242 + (long)OP(OP_SELF, 0, 0, 0, 0);
    if (number == SYS_sched_yield) return 0;
    if (number != SYS_futex) {
        OP(OP_REFUSE, "syscall", 0, 0, 0);
        __builtin_trap();
    }
    long command = b & ~FUTEX_FLAGS;
    unsigned wanted = (unsigned)c;
    /* Waiters of some bits only are not told apart. */
    int is_partial = (command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE_BITSET) && (unsigned)f != ~0u;
    if (command == FUTEX_WAIT || (command == FUTEX_WAIT_BITSET && !is_partial)) {
        const struct timespec *time = (const struct timespec *)d;
        int error = OP(OP_FUTEX_WAIT, a, sizeof wanted, &wanted, time != 0);
        if (error == ETIMEDOUT && command == FUTEX_WAIT) {
            OP(OP_SLEEP, (u64)time->tv_sec * second + (u64)time->tv_nsec, 0, 0, 0);
            return failed(error);
        }
        return failed(timed(error, time));
    }
    if (command == FUTEX_WAKE || (command == FUTEX_WAKE_BITSET && !is_partial)) {
        return (long)OP(OP_FUTEX_WAKE, a, sizeof wanted, (u64)(wanted > 0x7fffffff ? 0x7fffffff : wanted), 0);
    }
    OP(OP_REFUSE, "futex with an operation other than WAIT and WAKE", 0, 0, 0);
    __builtin_trap();
}
