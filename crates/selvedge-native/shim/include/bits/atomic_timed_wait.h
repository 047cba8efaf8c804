// Waits with a time limit: as in atomic_wait.h. The time may be up or not; both are explored.

#ifndef SELVEDGE_ATOMIC_TIMED_WAIT_H
#define SELVEDGE_ATOMIC_TIMED_WAIT_H 1
#pragma GCC system_header
#include <bits/c++config.h>

#if _GLIBCXX_RELEASE >= 11 && _GLIBCXX_RELEASE <= 14
#define __atomic_wait_address_until_v __selvedge_own_wait_address_until_v
#define __atomic_wait_address_until __selvedge_own_wait_address_until
#define __atomic_wait_address_until_bare __selvedge_own_wait_address_until_bare
#define __atomic_wait_address_for_v __selvedge_own_wait_address_for_v
#define __atomic_wait_address_for __selvedge_own_wait_address_for
#define __atomic_wait_address_for_bare __selvedge_own_wait_address_for_bare
#include_next <bits/atomic_timed_wait.h>
#undef __atomic_wait_address_until_v
#undef __atomic_wait_address_until
#undef __atomic_wait_address_until_bare
#undef __atomic_wait_address_for_v
#undef __atomic_wait_address_for
#undef __atomic_wait_address_for_bare

#ifdef __cpp_lib_atomic_wait
namespace std _GLIBCXX_VISIBILITY(default)
{
_GLIBCXX_BEGIN_NAMESPACE_VERSION
  // Returns whether it ended before its time was up.
  template<typename _Tp, typename _Pred>
    bool
    __selvedge_timed_wait(const _Tp* __addr, _Pred __pred) noexcept
    {
      for (;;)
	{
	  _Tp __seen;
	  __atomic_load(__addr, &__seen, __ATOMIC_ACQUIRE);
	  if (__pred())
	    return true;
	  if (selvedge_atomic_wait(__addr, sizeof(_Tp), &__seen, 1) == ETIMEDOUT)
	    return __pred();
	}
    }

  template<typename _Tp, typename _ValFn, typename _Time>
    bool
    __atomic_wait_address_until_v(const _Tp* __addr, _Tp&& __old, _ValFn&& __vfn, const _Time&) noexcept
    { return std::__selvedge_timed_wait(__addr, [&] { return !(__vfn() == __old); }); }

  template<typename _Tp, typename _Pred, typename _Time>
    bool
    __atomic_wait_address_until(const _Tp* __addr, _Pred __pred, const _Time&) noexcept
    { return std::__selvedge_timed_wait(__addr, __pred); }

  template<typename _Pred, typename _Time>
    bool
    __atomic_wait_address_until_bare(const __detail::__platform_wait_t* __addr, _Pred __pred, const _Time&) noexcept
    { return std::__selvedge_timed_wait(__addr, __pred); }

  template<typename _Tp, typename _ValFn, typename _Time>
    bool
    __atomic_wait_address_for_v(const _Tp* __addr, _Tp&& __old, _ValFn&& __vfn, const _Time&) noexcept
    { return std::__selvedge_timed_wait(__addr, [&] { return !(__vfn() == __old); }); }

  template<typename _Tp, typename _Pred, typename _Time>
    bool
    __atomic_wait_address_for(const _Tp* __addr, _Pred __pred, const _Time&) noexcept
    { return std::__selvedge_timed_wait(__addr, __pred); }

  template<typename _Pred, typename _Time>
    bool
    __atomic_wait_address_for_bare(const __detail::__platform_wait_t* __addr, _Pred __pred, const _Time&) noexcept
    { return std::__selvedge_timed_wait(__addr, __pred); }
_GLIBCXX_END_NAMESPACE_VERSION
} // namespace std
#endif
#else
#include_next <bits/atomic_timed_wait.h>
#endif
#endif
