/* The process: ends, output, time and chance, and what cannot be checked. */

#include "shim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

/* What ends the process that loads the module. */

static long system_call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
__attribute__((noreturn)) void selvedge_cannot_load(const char *text) {
    size_t size = 0;
    while (text[size]) size++;
    system_call(1, 2, (long)text, (long)size);
    system_call(231, 3, 0, 0);
    __builtin_trap();
}

/* Ends. What a program calls to say that it failed. */

enum { FAIL_ASSERT = 0, FAIL_ABORT = 1, FAIL_ERROR = 2 };

void __wrap___assert_fail(const char *text, const char *file, unsigned line, const char *function) {
    (void)function;
    OP(OP_FAIL, FAIL_ASSERT, text, file, line);
    __builtin_trap();
}
void __wrap_abort(void) { OP(OP_FAIL, FAIL_ABORT, 0, 0, 0); __builtin_trap(); }
/* A task may define these itself: see selvedge-tasks.h. */
void reach_error(void) { OP(OP_FAIL, FAIL_ERROR, "reach_error", 0, 0); __builtin_trap(); }
void __VERIFIER_error(void) { OP(OP_FAIL, FAIL_ERROR, "__VERIFIER_error", 0, 0); __builtin_trap(); }

/* The end of the process: variables of the thread that ends it, then what was registered, the last one first. Constructors
   register without the checker; from then on it sees who comes first. */

#define MOST_EXITS 128

static struct { void (*function)(void *); void *argument; } atexit_list[MOST_EXITS];
static unsigned exit_count;

static int at_exit(void (*function)(void *), void *argument, void *pc, void *frame) {
    if (IS_CHECKED) selvedge_table.op(OP_EXIT_LIST, pc, frame, (u64)atexit_list, 1, 0, 0);
    if (exit_count == MOST_EXITS) {
        if (!IS_CHECKED) __builtin_trap();
        selvedge_table.op(OP_REFUSE, pc, frame, (u64)"atexit more than 128 times", 0, 0, 0);
    }
    atexit_list[exit_count].function = function;
    atexit_list[exit_count++].argument = argument;
    return 0;
}
int __wrap_atexit(void (*function)(void)) { return at_exit((void (*)(void *))function, 0, PC, FRAME); }
int __wrap___cxa_atexit(void (*function)(void *), void *argument, void *module) {
    (void)module;
    return at_exit(function, argument, PC, FRAME);
}
/* These run when a module is unloaded, which does not happen. */
void __wrap___cxa_finalize(void *module) { (void)module; }

void selvedge_finish(int code) {
    OP(OP_THREAD_EXITS, 0, 0, 0, 0);
    for (;;) {
        OP(OP_EXIT_LIST, atexit_list, 0, 0, 0);
        if (!exit_count) break;
        exit_count--;
        atexit_list[exit_count].function(atexit_list[exit_count].argument);
    }
    OP(OP_EXIT, code, 0, 0, 0);
    __builtin_trap();
}
void __wrap_exit(int code) { selvedge_finish(code); }
void __wrap__exit(int code) { OP(OP_EXIT, code, 0, 0, 0); __builtin_trap(); }
void __wrap__Exit(int code) { OP(OP_EXIT, code, 0, 0, 0); __builtin_trap(); }
void __wrap_quick_exit(int code) { OP(OP_EXIT, code, 0, 0, 0); __builtin_trap(); }

/* Where code of the program begins. These functions have no unwind tables: an exception that comes here is one that
   nothing catches, and the unwinder says so. */

__attribute__((visibility("default"))) u64 selvedge_start(u64 (*start)(u64), u64 argument) { return start(argument); }
__attribute__((visibility("default"))) void selvedge_main(int (*start)(int, char **, char **), int count,
                                                          char **arguments, char **environment) {
    selvedge_finish(start(count, arguments, environment));
}
__attribute__((visibility("default"))) void selvedge_call(void (*function)(void *), void *argument) { function(argument); }

/* What verification tasks call. */

__attribute__((weak)) void __VERIFIER_assume(int holds) { if (!holds) OP(OP_ASSUME, 0, 0, 0, 0); }
__attribute__((weak)) void assume_abort_if_not(int holds) { if (!holds) OP(OP_ASSUME, 0, 0, 0, 0); }

static char atomic_section[40];
__attribute__((weak)) void __VERIFIER_atomic_begin(void) { OP(OP_MUTEX_LOCK, atomic_section, sizeof atomic_section, 1, 0); }
__attribute__((weak)) void __VERIFIER_atomic_end(void) { OP(OP_MUTEX_UNLOCK, atomic_section, sizeof atomic_section, 1, 0); }

__attribute__((weak)) _Bool __VERIFIER_nondet_bool(void) { return OP(OP_CHOOSE, 2, 0, 0, 0); }
#define NONDET(name, type) \
    __attribute__((weak)) type __VERIFIER_nondet_##name(void) { return (type)(int64_t)OP(OP_NONDET, #name, 0, 0, 0); }
NONDET(char, char)
NONDET(uchar, unsigned char)
NONDET(short, short)
NONDET(ushort, unsigned short)
NONDET(int, int)
NONDET(uint, unsigned)
NONDET(unsigned, unsigned)
NONDET(long, long)
NONDET(ulong, unsigned long)
NONDET(longlong, long long)
NONDET(ulonglong, unsigned long long)
NONDET(size_t, size_t)

/* Output is shown by replays alone. */

int __real_vsnprintf(char *to, size_t size, const char *format, va_list arguments);
size_t __real_strlen(const char *text);

int selvedge_format(const char *format, va_list arguments, void *pc, void *frame);

#define OUTPUT(text, size) OP(OP_OUTPUT, text, size, 0, 0)
#define READS(at, size) ACCESS(at, size, ACCESS_READ)
#define WRITES(at, size) ACCESS(at, size, ACCESS_WRITE)

static int shown(const char *format, va_list arguments, void *pc, void *frame) {
    char text[1024];
    selvedge_format(format, arguments, pc, frame);
    int size = __real_vsnprintf(text, sizeof text, format, arguments);
    if (size > 0) OUTPUT(text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
    return size;
}
int __wrap_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int size = shown(format, arguments, PC, FRAME);
    va_end(arguments);
    return size;
}
int __wrap_fprintf(FILE *file, const char *format, ...) {
    (void)file;
    va_list arguments;
    va_start(arguments, format);
    int size = shown(format, arguments, PC, FRAME);
    va_end(arguments);
    return size;
}
int __wrap_vprintf(const char *format, va_list arguments) { return shown(format, arguments, PC, FRAME); }
int __wrap_vfprintf(FILE *file, const char *format, va_list arguments) { (void)file; return shown(format, arguments, PC, FRAME); }
int __wrap_puts(const char *text) {
    READS(text, __real_strlen(text) + 1);
    OUTPUT(text, __real_strlen(text));
    OUTPUT("\n", 1);
    return 1;
}
int __wrap_fputs(const char *text, FILE *file) {
    (void)file;
    READS(text, __real_strlen(text) + 1);
    OUTPUT(text, __real_strlen(text));
    return 1;
}
int __wrap_putchar(int letter) { char text = letter; OUTPUT(&text, 1); return letter; }
int __wrap_fputc(int letter, FILE *file) { (void)file; char text = letter; OUTPUT(&text, 1); return letter; }
int __wrap_putc(int letter, FILE *file) { (void)file; char text = letter; OUTPUT(&text, 1); return letter; }
size_t __wrap_fwrite(const void *from, size_t size, size_t count, FILE *file) {
    (void)file;
    if (size && count) READS(from, size * count);
    OUTPUT(from, size * count);
    return count;
}
long __wrap_write(int file, const void *from, size_t size) {
    if (file != 1 && file != 2) OP(OP_REFUSE, "write", 0, 0, 0);
    if (size) READS(from, size);
    OUTPUT(from, size);
    return (long)size;
}
void __wrap_perror(const char *text) {
    if (!text) return;
    READS(text, __real_strlen(text) + 1);
    OUTPUT(text, __real_strlen(text));
    OUTPUT("\n", 1);
}
int __wrap_fflush(FILE *file) { (void)file; return 0; }
int __wrap_setvbuf(FILE *file, char *buffer, int mode, size_t size) { (void)file, (void)buffer, (void)mode, (void)size; return 0; }
void __wrap_setbuf(FILE *file, char *buffer) { (void)file, (void)buffer; }

/* Time and chance: the same in every execution, and independent for each thread. */

#define SECOND 1000000000

static u64 now(void *pc, void *frame) {
    return IS_CHECKED ? selvedge_table.op(OP_CLOCK, pc, frame, 0, 0, 0, 0) : (u64)SECOND * SECOND;
}
time_t __wrap_time(time_t *result) {
    time_t seconds = (time_t)(now(PC, FRAME) / SECOND);
    if (result) {
        WRITES(result, sizeof *result);
        *result = seconds;
    }
    return seconds;
}
int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
    (void)clock;
    u64 time_now = now(PC, FRAME);
    WRITES(time, sizeof *time);
    time->tv_sec = (time_t)(time_now / SECOND);
    time->tv_nsec = (long)(time_now % SECOND);
    return 0;
}
int __wrap_gettimeofday(struct timeval *time, void *zone) {
    (void)zone;
    u64 time_now = now(PC, FRAME);
    WRITES(time, sizeof *time);
    time->tv_sec = (time_t)(time_now / SECOND);
    time->tv_usec = (long)(time_now % SECOND) / 1000;
    return 0;
}
int __wrap_timespec_get(struct timespec *time, int base) {
    u64 time_now = now(PC, FRAME);
    WRITES(time, sizeof *time);
    time->tv_sec = (time_t)(time_now / SECOND);
    time->tv_nsec = (long)(time_now % SECOND);
    return base;
}
clock_t __wrap_clock(void) { return (clock_t)((now(PC, FRAME) - (u64)SECOND * SECOND) / 1000); }

/* Sleeping orders nothing: only the clock of the thread advances. */
static void sleeps(const struct timespec *time) {
    if (time) OP(OP_SLEEP, (u64)time->tv_sec * SECOND + (u64)time->tv_nsec, 0, 0, 0);
}
int __wrap_usleep(unsigned time) { OP(OP_SLEEP, (u64)time * 1000, 0, 0, 0); return 0; }
unsigned __wrap_sleep(unsigned time) { OP(OP_SLEEP, (u64)time * SECOND, 0, 0, 0); return 0; }
int __wrap_nanosleep(const struct timespec *time, struct timespec *left) { (void)left; sleeps(time); return 0; }
int __wrap_thrd_sleep(const struct timespec *time, struct timespec *left) { (void)left; sleeps(time); return 0; }
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    (void)clock, (void)left;
    if (flags && time) OP(OP_CLOCK, (u64)time->tv_sec * SECOND + (u64)time->tv_nsec, 0, 0, 0);
    else sleeps(time);
    return 0;
}
int __wrap_rand(void) { return (int)(OP(OP_RANDOM, 0, 0, 0, 0) & 0x7fffffff); }
int __wrap_rand_r(unsigned *seed) {
    READS(seed, sizeof *seed);
    WRITES(seed, sizeof *seed);
    *seed = *seed * 1103515245 + 12345;
    return (int)(*seed >> 1);
}
long __wrap_random(void) { return (long)(OP(OP_RANDOM, 0, 0, 0, 0) & 0x7fffffff); }
unsigned __wrap_arc4random(void) { return (unsigned)OP(OP_RANDOM, 0, 0, 0, 0); }
long __wrap_getrandom(void *to, size_t size, unsigned flags) {
    (void)flags;
    if (size) WRITES(to, size);
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = (char)OP(OP_RANDOM, 0, 0, 0, 0);
    return (long)size;
}
int __wrap_getentropy(void *to, size_t size) {
    if (size) WRITES(to, size);
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = (char)OP(OP_RANDOM, 0, 0, 0, 0);
    return 0;
}
void __wrap_srand(unsigned seed) { OP(OP_RANDOM, 1, seed, 0, 0); }
void __wrap_srandom(unsigned seed) { OP(OP_RANDOM, 1, seed, 0, 0); }
int __wrap_getpid(void) { return 4242; }
long __wrap_gettid(void) { return 4242 + (long)OP(OP_SELF, 0, 0, 0, 0); }

/* What would wait for the world outside, start processes, or change what a thread does without the checker's knowledge. */

#define REFUSED(name) \
    long __wrap_##name(void) { OP(OP_REFUSE, #name, 0, 0, 0); __builtin_trap(); }

REFUSED(read)
REFUSED(recv)
REFUSED(send)
REFUSED(socket)
REFUSED(accept)
REFUSED(connect)
REFUSED(poll)
REFUSED(select)
REFUSED(epoll_wait)
REFUSED(pause)
REFUSED(fork)
REFUSED(vfork)
REFUSED(execve)
REFUSED(execv)
REFUSED(execvp)
REFUSED(execl)
REFUSED(execlp)
REFUSED(system)
REFUSED(popen)
REFUSED(wait)
REFUSED(waitpid)
REFUSED(sigaction)
REFUSED(signal)
REFUSED(sigwait)
REFUSED(kill)
REFUSED(raise)
REFUSED(writev)
REFUSED(pthread_kill)
REFUSED(pthread_cancel)
REFUSED(__pthread_register_cancel)
REFUSED(pthread_atfork)
REFUSED(mmap)
REFUSED(munmap)
REFUSED(brk)
REFUSED(sbrk)
REFUSED(shm_open)
REFUSED(sem_open)
REFUSED(dlopen)
REFUSED(at_quick_exit)
REFUSED(fopen)
REFUSED(fopen64)
REFUSED(open)
REFUSED(open64)
REFUSED(creat)
REFUSED(unlink)
REFUSED(rename)
REFUSED(flock)
REFUSED(msgrcv)
REFUSED(scanf)
REFUSED(fgets)
REFUSED(getchar)
REFUSED(getline)
REFUSED(fread)
REFUSED(alarm)
REFUSED(setitimer)

/* A module that is run by itself says how to check it. */

const char selvedge_loader[] __attribute__((section(".interp"), used)) = "/lib64/ld-linux-x86-64.so.2";

__attribute__((visibility("default"), noreturn)) void selvedge_hint(void) {
    static const char text[] = "this program was linked by selvedge and does not run by itself: selvedge check FILE\n";
    system_call(1, 2, (long)text, sizeof text - 1);
    system_call(60, 2, 0, 0);
    __builtin_trap();
}
