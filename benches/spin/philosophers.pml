/* Dining philosophers, of whom one takes the forks in the other order: programs/states/philosophers.sel.
   spin -a philosophers.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -m1000000
   With -DNOREDUCE every step is taken in every state. */
#ifndef N
#define N 6
#endif

bool taken[N];

#define LEFT  (_pid == N - 1 -> 0 : _pid)
#define RIGHT (_pid == N - 1 -> N - 1 : _pid + 1)

active [N] proctype philosopher()
{
  do
  :: atomic { !taken[LEFT] -> taken[LEFT] = true };
     atomic { !taken[RIGHT] -> taken[RIGHT] = true };
     taken[RIGHT] = false;
     taken[LEFT] = false
  od
}
