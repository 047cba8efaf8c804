/* A barrier made of semaphores, in rounds: programs/states/barrier-in-rounds.sel.
   spin -a barrier.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan */
#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

bool m;
byte first = 0;
byte second = 1;
byte count;
byte arrived[ROUNDS];

active [N] proctype p()
{
  byte round, old;
again:
  arrived[round]++;
  atomic { !m -> m = true };
  old = count;
  atomic { count = old + 1; old = 0 };
  if
  :: count == N -> atomic { second > 0 -> second-- }; first++
  :: else
  fi;
  m = false;
  atomic { first > 0 -> first-- };
  first++;
  assert(arrived[round] == N);
  atomic { !m -> m = true };
  old = count;
  atomic { count = old - 1; old = 0 };
  if
  :: count == 0 -> atomic { first > 0 -> first-- }; second++
  :: else
  fi;
  m = false;
  atomic { second > 0 -> second-- };
  atomic { second++; round++; if :: round < ROUNDS -> goto again :: else -> round = 0 fi };
end:
  false
}
