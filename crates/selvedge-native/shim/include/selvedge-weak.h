/* Weak compare-exchanges for clang, whose instrumentation takes them for strong ones: here they are calls of the shim. */

#ifndef SELVEDGE_WEAK_H
#define SELVEDGE_WEAK_H 1
#pragma clang system_header

#ifdef __cplusplus
extern "C" int selvedge_compare_exchange_weak(void *at, void *expected, const void *value, __SIZE_TYPE__ size, int success,
                                              int failure) noexcept;
#define SELVEDGE_AUTO auto
#define SELVEDGE_BOOL bool
#else
int selvedge_compare_exchange_weak(void *at, void *expected, const void *value, __SIZE_TYPE__ size, int success,
                                   int failure);
#define SELVEDGE_AUTO __auto_type
#define SELVEDGE_BOOL _Bool
#endif

#define SELVEDGE_WEAK(at, expected, value, success, failure) \
    (SELVEDGE_BOOL) selvedge_compare_exchange_weak((void *)(at), (void *)(expected), (const void *)(value), \
                                                   sizeof *(expected), (int)(success), (int)(failure))

#define __c11_atomic_compare_exchange_weak(at, expected, value, success, failure) \
    __extension__({ \
        SELVEDGE_AUTO selvedge_at = (at); \
        SELVEDGE_AUTO selvedge_expected = (expected); \
        __typeof__(*selvedge_expected) selvedge_value = (value); \
        SELVEDGE_WEAK(selvedge_at, selvedge_expected, &selvedge_value, success, failure); \
    })
#define __atomic_compare_exchange_n(at, expected, value, weak, success, failure) \
    __extension__({ \
        SELVEDGE_AUTO selvedge_at = (at); \
        SELVEDGE_AUTO selvedge_expected = (expected); \
        __typeof__(*selvedge_expected) selvedge_value = (value); \
        (weak) ? SELVEDGE_WEAK(selvedge_at, selvedge_expected, &selvedge_value, success, failure) \
               : __atomic_compare_exchange_n(selvedge_at, selvedge_expected, selvedge_value, 0, success, failure); \
    })
#define __atomic_compare_exchange(at, expected, value, weak, success, failure) \
    __extension__({ \
        SELVEDGE_AUTO selvedge_at = (at); \
        SELVEDGE_AUTO selvedge_expected = (expected); \
        SELVEDGE_AUTO selvedge_value = (value); \
        (weak) ? SELVEDGE_WEAK(selvedge_at, selvedge_expected, selvedge_value, success, failure) \
               : __atomic_compare_exchange(selvedge_at, selvedge_expected, selvedge_value, 0, success, failure); \
    })

#endif
