/* Mutual exclusion with a token in a ring: programs/textbook/distributed/token-ring.sel, step for step.
   spin -a -DN=3 token-ring.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m1000000 */
#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

chan mailbox[N] = [1] of { bit };
byte inside;

#define PASS_ON atomic { mailbox[(_pid + 1) % N] ! 1; round++; if :: round < ROUNDS -> goto again :: else -> round = 0 fi }

/* The one that has the token in the beginning. */
active proctype first()
{
  byte round;
  goto enter;
again:
  mailbox[_pid] ? 1;
enter:
  inside++;
  d_step { assert(inside == 1); inside-- };
  PASS_ON;
end:
  mailbox[_pid] ? _;
  goto end
}

active [N - 1] proctype station()
{
  byte round;
again:
  mailbox[_pid] ? 1;
  inside++;
  d_step { assert(inside == 1); inside-- };
  PASS_ON;
end:
  mailbox[_pid] ? _;
  goto end
}
