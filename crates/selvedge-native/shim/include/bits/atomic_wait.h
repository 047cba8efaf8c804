// `std::atomic<T>::wait` and `notify`, for checked programs. The standard library's own spin sixteen times before they
// wait, and wait for another variable than the program's: what that does is the same, and would take thousands of
// executions. Here a wait is one step, which reads the variable and waits if nothing has changed.

#ifndef SELVEDGE_ATOMIC_WAIT_H
#define SELVEDGE_ATOMIC_WAIT_H 1
#pragma GCC system_header
#include <bits/c++config.h>

#if _GLIBCXX_RELEASE >= 11 && _GLIBCXX_RELEASE <= 14
#define __atomic_wait_address_v __selvedge_own_wait_address_v
#define __atomic_wait_address __selvedge_own_wait_address
#define __atomic_wait_address_bare __selvedge_own_wait_address_bare
#define __atomic_notify_address __selvedge_own_notify_address
#define __atomic_notify_address_bare __selvedge_own_notify_address_bare
#include_next <bits/atomic_wait.h>
#undef __atomic_wait_address_v
#undef __atomic_wait_address
#undef __atomic_wait_address_bare
#undef __atomic_notify_address
#undef __atomic_notify_address_bare

#ifdef __cpp_lib_atomic_wait
extern "C" int selvedge_atomic_wait(const volatile void *at, __SIZE_TYPE__ size, const void *seen, int is_timed) noexcept;
extern "C" void selvedge_atomic_notify(const volatile void *at, __SIZE_TYPE__ size, int all) noexcept;

namespace std _GLIBCXX_VISIBILITY(default)
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION
  template<typename _Tp, typename _ValFn>
    void
    __atomic_wait_address_v(const _Tp* __addr, _Tp __old, _ValFn __vfn) noexcept
    {
      for (;;)
	{
	  _Tp __seen = __vfn();
	  if (__builtin_memcmp(&__seen, &__old, sizeof(_Tp)) != 0)
	    return;
	  selvedge_atomic_wait(__addr, sizeof(_Tp), &__seen, 0);
	}
    }

  // What the condition looks at is read before it, so that a change in between is noticed.
  template<typename _Tp, typename _Pred>
    void
    __atomic_wait_address(const _Tp* __addr, _Pred __pred) noexcept
    {
      for (;;)
	{
	  _Tp __seen;
	  __atomic_load(__addr, &__seen, __ATOMIC_ACQUIRE);
	  if (__pred())
	    return;
	  selvedge_atomic_wait(__addr, sizeof(_Tp), &__seen, 0);
	}
    }

  template<typename _Pred>
    void
    __atomic_wait_address_bare(const __detail::__platform_wait_t* __addr, _Pred __pred) noexcept
    { std::__atomic_wait_address(__addr, __pred); }

  template<typename _Tp>
    void
    __atomic_notify_address(const _Tp* __addr, bool __all) noexcept
    { selvedge_atomic_notify(__addr, sizeof(_Tp), __all); }

  inline void
  __atomic_notify_address_bare(const __detail::__platform_wait_t* __addr, bool __all) noexcept
  { selvedge_atomic_notify(__addr, sizeof *__addr, __all); }
_GLIBCXX_END_NAMESPACE_VERSION
} // namespace std
#endif
#else
#include_next <bits/atomic_wait.h>
#endif
#endif
