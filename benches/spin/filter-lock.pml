/* The filter lock, Peterson's algorithm for N threads: programs/textbook/multiprocessor/filter-lock.sel, step for step.
   spin -a -DN=3 filter-lock.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m1000000 */
#ifndef N
#define N 3
#endif

byte level[N];
byte victim[N];
byte inside;

#define FIRST (_pid == 0 -> 1 : 0)
#define NEXT  (k + 1 == _pid -> k + 2 : k + 1)

active [N] proctype p()
{
  byte room = 1;
  byte k;
enter:
  level[_pid] = room;
  atomic { victim[room] = _pid; k = FIRST };
scan:
  if
  :: atomic { level[k] >= room -> k = 0 }
  :: atomic { else -> k = NEXT; if :: k < N -> goto scan :: else -> k = 0; room++; if :: room < N -> goto enter :: else -> room = 1; goto critical fi fi }
  fi;
  if
  :: atomic { victim[room] == _pid -> k = FIRST; goto scan }
  :: atomic { else -> room++; if :: room < N -> goto enter :: else -> room = 1; goto critical fi }
  fi;
critical:
  inside++;
  d_step { assert(inside == 1); inside-- };
  level[_pid] = 0;
  goto enter
}
