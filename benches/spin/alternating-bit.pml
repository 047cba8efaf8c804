/* The alternating-bit protocol over channels that lose messages: programs/textbook/distributed/alternating-bit.sel.
   spin -a -DMESSAGES=2 -DTRIES=2 alternating-bit.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m1000000 */
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef TRIES
#define TRIES 2
#endif

chan to_receiver = [MESSAGES * TRIES] of { bit, byte };
chan to_sender = [MESSAGES * TRIES] of { bit };
byte delivered;

active proctype sender()
{
  byte number, attempt;
again:
  if
  :: skip -> to_receiver ! number % 2, number
  :: skip
  fi;
  if
  :: atomic { to_sender ?? [eval(number % 2)] -> to_sender ?? eval(number % 2); attempt = 0; number++; if :: number < MESSAGES -> goto again :: else -> number = 0; goto end fi }
  :: atomic { skip -> attempt++; if :: attempt < TRIES -> goto again :: else -> attempt = 0; number = 0 fi }
  fi;
end:
  to_sender ? _;
  goto end
}

active proctype receiver()
{
  bit b, expected;
  byte number, old;
end:
  atomic { to_receiver ? b, number; if :: b != expected -> number = 0; goto acknowledge :: else fi };
  d_step { assert(number == delivered); number = 0 };
  old = delivered;
  atomic { delivered = old + 1; old = 0; expected = 1 - expected };
acknowledge:
  if
  :: skip -> atomic { to_sender ! b; b = 0; goto end }
  :: atomic { skip -> b = 0; goto end }
  fi
}
