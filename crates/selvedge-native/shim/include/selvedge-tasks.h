/* Comes before every file. In a verification task the call of these functions is the error, whatever the task defines them to do: its
   own definitions are weak, so that the compiler neither looks into them nor leaves out calls, and those of the shim are linked. */

/* clang would say of every other program that it does not have them. */
#pragma GCC system_header
#pragma weak reach_error
#pragma weak __VERIFIER_error

/* An abort in these is an assumption that does not hold: they must not be inlined. */
#pragma weak assume_abort_if_not
#pragma weak __VERIFIER_assume
