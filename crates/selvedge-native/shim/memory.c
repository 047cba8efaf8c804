/* Accesses to memory: what the compiler's instrumentation calls, and functions of libc that copy. */

#include "shim.h"

#include <string.h>

struct selvedge_table selvedge_table __attribute__((visibility("default")));

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}

#define PLAIN(size) \
    void __tsan_read##size(void *at) { ACCESS(at, size, ACCESS_READ); } \
    void __tsan_write##size(void *at) { ACCESS(at, size, ACCESS_WRITE); } \
    void __tsan_unaligned_read##size(void *at) { ACCESS(at, size, ACCESS_READ); } \
    void __tsan_unaligned_write##size(void *at) { ACCESS(at, size, ACCESS_WRITE); } \
    void __tsan_volatile_read##size(void *at) { ACCESS(at, size, ACCESS_VOLATILE_READ); } \
    void __tsan_volatile_write##size(void *at) { ACCESS(at, size, ACCESS_VOLATILE_WRITE); } \
    void __tsan_unaligned_volatile_read##size(void *at) { ACCESS(at, size, ACCESS_VOLATILE_READ); } \
    void __tsan_unaligned_volatile_write##size(void *at) { ACCESS(at, size, ACCESS_VOLATILE_WRITE); } \
    /* The callback comes before the access, so the read and the write are two steps with nothing in between. */ \
    void __tsan_read_write##size(void *at) { ACCESS(at, size, ACCESS_READ); ACCESS(at, size, ACCESS_WRITE); } \
    void __tsan_unaligned_read_write##size(void *at) { ACCESS(at, size, ACCESS_READ); ACCESS(at, size, ACCESS_WRITE); }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *at, unsigned long size) { ACCESS(at, size, ACCESS_READ); }
void __tsan_write_range(void *at, unsigned long size) { ACCESS(at, size, ACCESS_WRITE); }
void __tsan_vptr_read(void **at) { ACCESS(at, sizeof *at, ACCESS_READ); }
void __tsan_vptr_update(void **at, void *new) { (void)new; ACCESS(at, sizeof *at, ACCESS_WRITE); }

/* Functions of libc that read and write memory: announced, then done. */

void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);
void *__real_memset(void *to, int value, size_t size);
int __real_memcmp(const void *a, const void *b, size_t size);
size_t __real_strlen(const char *text);

#define READS(at, size) ACCESS(at, size, ACCESS_READ)
#define WRITES(at, size) ACCESS(at, size, ACCESS_WRITE)

void *__wrap_memcpy(void *to, const void *from, size_t size) {
    if (size) { READS(from, size); WRITES(to, size); }
    return __real_memcpy(to, from, size);
}
void *__wrap_memmove(void *to, const void *from, size_t size) {
    if (size) { READS(from, size); WRITES(to, size); }
    return __real_memmove(to, from, size);
}
void *__wrap_memset(void *to, int value, size_t size) {
    if (size) WRITES(to, size);
    return __real_memset(to, value, size);
}
void __wrap_bzero(void *to, size_t size) {
    if (size) WRITES(to, size);
    __real_memset(to, 0, size);
}
int __wrap_memcmp(const void *a, const void *b, size_t size) {
    if (size) { READS(a, size); READS(b, size); }
    return __real_memcmp(a, b, size);
}
void *__tsan_memcpy(void *to, const void *from, size_t size) {
    if (size) { READS(from, size); WRITES(to, size); }
    return __real_memcpy(to, from, size);
}
void *__tsan_memmove(void *to, const void *from, size_t size) {
    if (size) { READS(from, size); WRITES(to, size); }
    return __real_memmove(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size) {
    if (size) WRITES(to, size);
    return __real_memset(to, value, size);
}

size_t __wrap_strlen(const char *text) {
    size_t size = __real_strlen(text);
    READS(text, size + 1);
    return __real_strlen(text);
}

static size_t bounded(const char *text, size_t most) {
    size_t size = 0;
    while (size < most && text[size]) size++;
    return size < most ? size + 1 : most;
}

char *__wrap_strcpy(char *to, const char *from) {
    size_t size = __real_strlen(from) + 1;
    READS(from, size);
    WRITES(to, size);
    return __real_memcpy(to, from, size);
}
char *__wrap_strncpy(char *to, const char *from, size_t most) {
    if (!most) return to;
    size_t size = bounded(from, most);
    READS(from, size);
    WRITES(to, most);
    __real_memcpy(to, from, size);
    __real_memset(to + size, 0, most - size);
    return to;
}
char *__wrap_strcat(char *to, const char *from) {
    size_t before = __real_strlen(to), size = __real_strlen(from) + 1;
    READS(to, before + 1);
    READS(from, size);
    WRITES(to + before, size);
    __real_memcpy(to + before, from, size);
    return to;
}
int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b) {
    READS(a, __real_strlen(a) + 1);
    READS(b, __real_strlen(b) + 1);
    return __real_strcmp(a, b);
}
int __real_strncmp(const char *a, const char *b, size_t most);
int __wrap_strncmp(const char *a, const char *b, size_t most) {
    if (most) { READS(a, bounded(a, most)); READS(b, bounded(b, most)); }
    return __real_strncmp(a, b, most);
}

/* The heap: blocks come from the checker's arenas; before the check from a small one in the image. */

static _Alignas(16) char early[1 << 20];
static size_t early_used;

/* What libstdc++ keeps for exceptions when there is no memory left, which never happens here: it need not be restored. */
#define EMERGENCY (64 * 1024 + 64 * 112)
static _Alignas(16) char emergency_pool[EMERGENCY];
static int has_pool;

static void *early_alloc(size_t size, size_t alignment) {
    if (size == EMERGENCY && !has_pool) {
        has_pool = 1;
        return emergency_pool;
    }
    size_t at = (early_used + alignment - 1) & ~(alignment - 1);
    if (size > sizeof early || at > sizeof early - size) __builtin_trap();
    early_used = at + size;
    return early + at;
}

/* These blocks live as long as the program: they are not checked. */
int selvedge_is_early(const void *block) {
    return (const char *)block >= early && (const char *)block < early + sizeof early;
}

#define ALLOC(size, alignment, zeroed) \
    (IS_CHECKED ? (void *)OP(OP_MALLOC, size, alignment, zeroed, 0) : early_alloc(size, alignment))

#define ENOMEM_NUMBER 12
#define EINVAL_NUMBER 22

void *__wrap_malloc(size_t size) { return ALLOC(size, 16, 0); }
void *__wrap_calloc(size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) return 0;
    return ALLOC(all, 16, 1);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return ALLOC(size, alignment < 16 ? 16 : alignment, 0); }
void *__wrap_memalign(size_t alignment, size_t size) { return ALLOC(size, alignment < 16 ? 16 : alignment, 0); }
int __wrap_posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1))) return EINVAL_NUMBER;
    void *block = ALLOC(size, alignment < 16 ? 16 : alignment, 0);
    if (!block) return ENOMEM_NUMBER;
    WRITES(result, sizeof *result);
    *result = block;
    return 0;
}
void __wrap_free(void *block) {
    if (block && !selvedge_is_early(block)) OP(OP_FREE, block, 0, 0, 0);
}
void *__wrap_realloc(void *block, size_t size) {
    if (!block) return ALLOC(size, 16, 0);
    if (!IS_CHECKED || selvedge_is_early(block)) {
        void *moved = ALLOC(size, 16, 0);
        if (!moved) return 0;
        /* At most what lies after the block: the arena is in one piece. */
        size_t left = (size_t)(early + sizeof early - (char *)block);
        __real_memmove(moved, block, size < left ? size : left);
        return moved;
    }
    return (void *)OP(OP_REALLOC, block, size, 0, 0);
}
void *__wrap_reallocarray(void *block, size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) return 0;
    if (!IS_CHECKED || !block || selvedge_is_early(block)) return __wrap_realloc(block, all);
    return (void *)OP(OP_REALLOC, block, all, 0, 0);
}
size_t __wrap_malloc_usable_size(void *block) { return block ? OP(OP_USABLE, block, 0, 0, 0) : 0; }
char *__wrap_strdup(const char *text) {
    size_t size = __real_strlen(text) + 1;
    READS(text, size);
    char *copy = ALLOC(size, 16, 0);
    if (!copy) return 0;
    WRITES(copy, size);
    return __real_memcpy(copy, text, size);
}
char *__wrap_strndup(const char *text, size_t most) {
    size_t size = most ? bounded(text, most) : 0;
    if (size) READS(text, size);
    if (size && !text[size - 1]) size--;
    char *copy = ALLOC(size + 1, 16, 0);
    if (!copy) return 0;
    WRITES(copy, size + 1);
    __real_memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

/* Variables of each thread. */

typedef struct { unsigned long module, offset; } tls_index;
void *__real___tls_get_addr(tls_index *index);
void *__wrap___tls_get_addr(tls_index *index) {
    if (!IS_CHECKED) return __real___tls_get_addr(index);
    return (void *)OP(OP_TLS, index->offset, 0, 0, 0);
}
