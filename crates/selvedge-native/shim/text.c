/* Functions of libc that read or write what their arguments point to: text, formats, arrays. Announced, then done. */

#include "shim.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void *__real_memcpy(void *to, const void *from, size_t size);
size_t __real_strlen(const char *text);
size_t __real_wcslen(const wchar_t *text);

#define READS_AT(at, size) ACCESS_AT(at, size, ACCESS_READ, pc, frame)
#define WRITES_AT(at, size) ACCESS_AT(at, size, ACCESS_WRITE, pc, frame)
#define READS(at, size) ACCESS(at, size, ACCESS_READ)
#define WRITES(at, size) ACCESS(at, size, ACCESS_WRITE)
#define READS_TEXT(text) READS(text, __real_strlen(text) + 1)

/* How much of a text is read if at most so many characters are. */
static size_t bounded(const char *text, size_t most) {
    size_t size = 0;
    while (size < most && text[size]) size++;
    return size < most ? size + 1 : most;
}
static size_t bounded_wide(const wchar_t *text, size_t most) {
    size_t size = 0;
    while (size < most && text[size]) size++;
    return (size < most ? size + 1 : most) * sizeof *text;
}

/* Formats: the texts that are printed, and the numbers that `%n` writes. Returns 0 for one that is not understood. */

enum { AS_INT, AS_LONG, AS_LONG_DOUBLE };

static const char *number(const char *at, int *value) {
    *value = 0;
    while (*at >= '0' && *at <= '9') {
        if (*value < 100000000) *value = *value * 10 + (*at - '0');
        at++;
    }
    return at;
}

int selvedge_format(const char *format, va_list arguments, void *pc, void *frame) {
    if (!IS_CHECKED) return 1;
    va_list given;
    va_copy(given, arguments);
    READS_AT(format, __real_strlen(format) + 1);
    int understood = 1;
    for (const char *at = format; *at; at++) {
        if (*at != '%') continue;
        at++;
        while (*at == '-' || *at == '+' || *at == ' ' || *at == '#' || *at == '0' || *at == '\'' || *at == 'I') at++;
        int width, precision = -1, length = AS_INT;
        size_t counted = sizeof(int);
        if (*at == '*') { (void)va_arg(given, int); at++; }
        else at = number(at, &width);
        if (*at == '.') {
            at++;
            if (*at == '*') { precision = va_arg(given, int); at++; }
            else at = number(at, &precision);
        }
        switch (*at) {
        case 'h':
            counted = sizeof(short);
            if (*++at == 'h') { counted = 1; at++; }
            break;
        case 'l':
            if (*++at == 'l') at++;
            length = AS_LONG;
            break;
        case 'q': case 'j': case 'z': case 't': at++; length = AS_LONG; break;
        case 'L': at++; length = AS_LONG_DOUBLE; break;
        default: break;
        }
        if (length == AS_LONG) counted = sizeof(long);
        switch (*at) {
        case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': case 'c': case 'C':
            if (length == AS_INT) (void)va_arg(given, int);
            else (void)va_arg(given, long);
            break;
        case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
            if (length == AS_LONG_DOUBLE) (void)va_arg(given, long double);
            else (void)va_arg(given, double);
            break;
        case 'p': (void)va_arg(given, void *); break;
        case 's': case 'S': {
            const void *text = va_arg(given, const void *);
            size_t most = precision < 0 ? SIZE_MAX : (size_t)precision;
            int is_wide = *at == 'S' || length == AS_LONG;
            size_t size = !text || !most ? 0 : is_wide ? bounded_wide(text, most) : bounded(text, most);
            if (size) ACCESS_AT(text, size, ACCESS_READ | IN_LOOP, pc, frame);
            break;
        }
        case 'n': ACCESS_AT(va_arg(given, void *), counted, ACCESS_WRITE | IN_LOOP, pc, frame); break;
        case 'm': case '%': break;
        default: understood = 0; break;
        }
        if (!understood) break;
    }
    va_end(given);
    if (!understood) selvedge_table.op(OP_REFUSE, pc, frame, (u64)"a format with positions or conversions of its own", 0, 0, 0);
    return understood;
}

int __real_vsnprintf(char *to, size_t size, const char *format, va_list arguments);

/* Prints into a buffer of so many bytes. */
static int printed(char *to, size_t size, const char *format, va_list arguments, void *pc, void *frame) {
    selvedge_format(format, arguments, pc, frame);
    if (size) {
        va_list again;
        va_copy(again, arguments);
        int needed = __real_vsnprintf(0, 0, format, again);
        va_end(again);
        size_t written = needed < 0 ? size : (size_t)needed + 1;
        WRITES_AT(to, written < size ? written : size);
    }
    return __real_vsnprintf(to, size, format, arguments);
}
#define ANY_SIZE (SIZE_MAX >> 1)

int __wrap_vsnprintf(char *to, size_t size, const char *format, va_list arguments) {
    return printed(to, size, format, arguments, PC, FRAME);
}
int __wrap_vsprintf(char *to, const char *format, va_list arguments) {
    return printed(to, ANY_SIZE, format, arguments, PC, FRAME);
}
int __wrap_snprintf(char *to, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = printed(to, size, format, arguments, PC, FRAME);
    va_end(arguments);
    return result;
}
int __wrap_sprintf(char *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = printed(to, ANY_SIZE, format, arguments, PC, FRAME);
    va_end(arguments);
    return result;
}

/* Numbers in text: what is read ends at the first character that does not belong to it, at the latest at the end. */

#define PARSED(name, type) \
    type __real_##name(const char *text, char **end); \
    type __wrap_##name(const char *text, char **end) { \
        READS_TEXT(text); \
        if (end) WRITES(end, sizeof *end); \
        return __real_##name(text, end); \
    }
#define PARSED_IN(name, type) \
    type __real_##name(const char *text, char **end, int base); \
    type __wrap_##name(const char *text, char **end, int base) { \
        READS_TEXT(text); \
        if (end) WRITES(end, sizeof *end); \
        return __real_##name(text, end, base); \
    }
#define CONVERTED(name, type) \
    type __real_##name(const char *text); \
    type __wrap_##name(const char *text) { READS_TEXT(text); return __real_##name(text); }

PARSED(strtod, double)
PARSED(strtof, float)
PARSED(strtold, long double)
PARSED_IN(strtol, long)
PARSED_IN(strtoll, long long)
PARSED_IN(strtoul, unsigned long)
PARSED_IN(strtoull, unsigned long long)
CONVERTED(atof, double)
CONVERTED(atoi, int)
CONVERTED(atol, long)
CONVERTED(atoll, long long)

/* Names under which newer headers call them. */
#define RENAMED_IN(name, type, known) \
    type __wrap_##name(const char *text, char **end, int base) { \
        READS_TEXT(text); \
        if (end) WRITES(end, sizeof *end); \
        return __real_##known(text, end, base); \
    }
RENAMED_IN(__isoc23_strtol, long, strtol)
RENAMED_IN(__isoc23_strtoll, long long, strtoll)
RENAMED_IN(__isoc23_strtoul, unsigned long, strtoul)
RENAMED_IN(__isoc23_strtoull, unsigned long long, strtoull)

/* Search in text and memory. */

#define FOUND(name, result, parameters, reads, call) \
    result __real_##name parameters; \
    result __wrap_##name parameters { reads; return __real_##name call; }

FOUND(strchr, char *, (const char *text, int wanted), READS_TEXT(text), (text, wanted))
FOUND(strrchr, char *, (const char *text, int wanted), READS_TEXT(text), (text, wanted))
FOUND(strstr, char *, (const char *text, const char *part), READS_TEXT(text); READS_TEXT(part), (text, part))
FOUND(strcasestr, char *, (const char *text, const char *part), READS_TEXT(text); READS_TEXT(part), (text, part))
FOUND(strpbrk, char *, (const char *text, const char *set), READS_TEXT(text); READS_TEXT(set), (text, set))
FOUND(strspn, size_t, (const char *text, const char *set), READS_TEXT(text); READS_TEXT(set), (text, set))
FOUND(strcspn, size_t, (const char *text, const char *set), READS_TEXT(text); READS_TEXT(set), (text, set))
FOUND(strcasecmp, int, (const char *a, const char *b), READS_TEXT(a); READS_TEXT(b), (a, b))
FOUND(strcoll, int, (const char *a, const char *b), READS_TEXT(a); READS_TEXT(b), (a, b))
FOUND(strncasecmp, int, (const char *a, const char *b, size_t most),
      if (most) { READS(a, bounded(a, most)); READS(b, bounded(b, most)); }, (a, b, most))

size_t __wrap_strnlen(const char *text, size_t most) {
    if (most) READS(text, bounded(text, most));
    size_t size = 0;
    while (size < most && text[size]) size++;
    return size;
}

/* What comes behind the byte that is found is not read. */
void *__real_memchr(const void *from, int wanted, size_t size);
void *__wrap_memchr(const void *from, int wanted, size_t size) {
    size_t read = 0;
    const unsigned char *bytes = from;
    while (read < size && bytes[read] != (unsigned char)wanted) read++;
    if (size) READS(from, read < size ? read + 1 : size);
    return __real_memchr(from, wanted, size);
}
FOUND(memrchr, void *, (const void *from, int wanted, size_t size), if (size) READS(from, size), (from, wanted, size))

char *__wrap_strncat(char *to, const char *from, size_t most) {
    size_t before = __real_strlen(to), size = most ? bounded(from, most) : 0;
    READS(to, before + 1);
    if (size) READS(from, size);
    if (size && !from[size - 1]) size--;
    WRITES(to + before, size + 1);
    __real_memcpy(to + before, from, size);
    to[before + size] = 0;
    return to;
}
char *__wrap_stpcpy(char *to, const char *from) {
    size_t size = __real_strlen(from) + 1;
    READS(from, size);
    WRITES(to, size);
    __real_memcpy(to, from, size);
    return to + size - 1;
}

/* Parts of a text. What `strtok` remembers is one for all threads. */

static char *cut(char *text, const char *set, char **rest, void *pc, void *frame) {
    READS_AT(set, __real_strlen(set) + 1);
    if (!text) {
        READS_AT(rest, sizeof *rest);
        text = *rest;
    }
    char *end = 0;
    if (text) {
        READS_AT(text, __real_strlen(text) + 1);
        while (*text && __real_strchr(set, *text)) text++;
        end = text;
        while (*end && !__real_strchr(set, *end)) end++;
    }
    int is_one = text && text != end;
    if (is_one && *end) {
        WRITES_AT(end, 1);
        *end++ = 0;
    }
    WRITES_AT(rest, sizeof *rest);
    *rest = end;
    return is_one ? text : 0;
}
char *__wrap_strtok_r(char *text, const char *set, char **rest) { return cut(text, set, rest, PC, FRAME); }
static char *remembered;
char *__wrap_strtok(char *text, const char *set) { return cut(text, set, &remembered, PC, FRAME); }

/* Sorting moves elements, and compares them by the function alone. */
void __real_qsort(void *from, size_t count, size_t size, int (*compare)(const void *, const void *));
void __wrap_qsort(void *from, size_t count, size_t size, int (*compare)(const void *, const void *)) {
    if (count > 1 && size) {
        READS(from, count * size);
        WRITES(from, count * size);
    }
    __real_qsort(from, count, size, compare);
}

/* Wide text. */

#define WIDE(text) ((__real_wcslen(text) + 1) * sizeof(wchar_t))
size_t __wrap_wcslen(const wchar_t *text) {
    READS(text, WIDE(text));
    return __real_wcslen(text);
}
FOUND(wcscmp, int, (const wchar_t *a, const wchar_t *b), READS(a, WIDE(a)); READS(b, WIDE(b)), (a, b))
FOUND(wmemcpy, wchar_t *, (wchar_t *to, const wchar_t *from, size_t count),
      if (count) { READS(from, count * sizeof *from); WRITES(to, count * sizeof *to); }, (to, from, count))
FOUND(wmemmove, wchar_t *, (wchar_t *to, const wchar_t *from, size_t count),
      if (count) { READS(from, count * sizeof *from); WRITES(to, count * sizeof *to); }, (to, from, count))
FOUND(wmemset, wchar_t *, (wchar_t *to, wchar_t value, size_t count),
      if (count) WRITES(to, count * sizeof *to), (to, value, count))
FOUND(wmemcmp, int, (const wchar_t *a, const wchar_t *b, size_t count),
      if (count) { READS(a, count * sizeof *a); READS(b, count * sizeof *b); }, (a, b, count))
FOUND(wmemchr, wchar_t *, (const wchar_t *from, wchar_t wanted, size_t count),
      if (count) READS(from, count * sizeof *from), (from, wanted, count))
