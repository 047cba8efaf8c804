// `std::atomic<std::shared_ptr<T>>`, with one change: its lock is given up with a release. The standard library does it with a
// relaxed operation after a load, which is a data race with the next store by the letter, and none on any processor.

#ifndef SELVEDGE_SHARED_PTR_ATOMIC_H
#define SELVEDGE_SHARED_PTR_ATOMIC_H 1
#pragma GCC system_header
#include <bits/atomic_base.h>
#include <bits/shared_ptr.h>
#define fetch_sub(count, order) \
    fetch_sub(count, (order) == memory_order_relaxed ? memory_order_release : (order))
#include_next <bits/shared_ptr_atomic.h>
#undef fetch_sub
#endif
