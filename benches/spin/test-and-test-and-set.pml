/* A lock that spins: programs/states/test-and-test-and-set.sel.
   spin -a test-and-test-and-set.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan */
#ifndef N
#define N 2
#endif

bool locked;
byte owner = 255;

active [N] proctype p()
{
test:
  if
  :: !locked
  :: else -> goto test
  fi;
  atomic {
    if
    :: locked -> goto test
    :: else -> locked = true
    fi
  };
  owner = _pid;
  assert(owner == _pid);
  locked = false;
  goto test
}
