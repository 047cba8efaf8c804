/* The bakery lock: programs/textbook/multiprocessor/bakery.sel, step for step.
   spin -a -DN=2 bakery.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m1000000 */
#ifndef N
#define N 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

bool flag[N];
byte label[N];
byte inside;

#define FIRST (_pid == 0 -> 1 : 0)
#define NEXT  (k + 1 == _pid -> k + 2 : k + 1)

active [N] proctype p()
{
  byte round, largest, k, theirs;
again:
  flag[_pid] = true;
look:
  if
  :: atomic { label[k] > largest -> largest = label[k]; k++; if :: k < N -> goto look :: else fi }
  :: atomic { else -> k++; if :: k < N -> goto look :: else fi }
  fi;
  atomic { label[_pid] = largest + 1; largest = 0; k = 0 };
  atomic { flag[_pid] = false; k = FIRST };
wait:
  if
  :: flag[k] -> goto wait
  :: !flag[k]
  fi;
compare:
  theirs = label[k];
  if
  :: atomic { theirs != 0 && (theirs < label[_pid] || theirs == label[_pid] && k < _pid) -> theirs = 0; goto compare }
  :: atomic { else -> theirs = 0; k = NEXT; if :: k < N -> goto wait :: else -> k = 0; goto critical fi }
  fi;
critical:
  inside++;
  d_step { assert(inside == 1); inside-- };
  atomic { label[_pid] = 0; round++; if :: round < ROUNDS -> goto again :: else -> round = 0 fi };
end:
  false
}
