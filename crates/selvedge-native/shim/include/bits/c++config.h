// The configuration of the standard library, with one change: std::string is compiled with the program, so that its accesses
// are seen. Streams are not: what threads do to std::cout at the same time is no data race.

#ifndef SELVEDGE_CXX_CONFIG_H
#define SELVEDGE_CXX_CONFIG_H 1
#pragma GCC system_header
#include_next <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
