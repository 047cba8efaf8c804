/* The end of a thread inside of calls. The destructors of their frames run if there are any, so this file is compiled with unwind
   tables: without them the unwinder would take its frame for the end of the stack. */

#include "shim.h"

#include <pthread.h>

/* Frames of C++ have destructors. */
__attribute__((weak)) void selvedge_unwind(void *result);
void __wrap_pthread_exit(void *result) {
    if (selvedge_unwind) selvedge_unwind(result);
    OP(OP_EXIT_THREAD, result, 0, 0, 0);
    __builtin_trap();
}
