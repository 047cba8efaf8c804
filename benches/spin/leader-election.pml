/* Election in a ring, Chang and Roberts: programs/textbook/distributed/leader-election.sel.
   spin -a -DN=3 leader-election.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m1000000 */
#ifndef N
#define N 3
#endif

chan mailbox[N] = [N] of { byte };
byte leaders;

active [N] proctype node()
{
  byte other;
  mailbox[(_pid + 1) % N] ! (_pid + 1) % N;
end:
  atomic { mailbox[_pid] ? other;
    if
    :: other == (_pid + 1) % N -> other = 0
    :: other > (_pid + 1) % N -> goto pass
    :: else -> other = 0; goto end
    fi };
  d_step { assert(leaders == 0); leaders++ };
  goto end;
pass:
  atomic { mailbox[(_pid + 1) % N] ! other; other = 0; goto end }
}
