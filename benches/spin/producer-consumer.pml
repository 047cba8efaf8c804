/* Producers and consumers with a finite buffer: programs/textbook/semaphores/producer-consumer.sel.
   spin -a -DP=2 producer-consumer.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m1000000 */
#ifndef P
#define P 2
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif

bool m;
byte items;
byte spaces = CAPACITY;
chan buffer = [CAPACITY] of { byte };
bool taken[P];

active [P] proctype producer()
{
  atomic { spaces > 0 -> spaces-- };
  atomic { !m -> m = true };
  assert(len(buffer) < CAPACITY);
  buffer ! _pid;
  m = false;
  items++;
end:
  false
}

active [P] proctype consumer()
{
  byte item;
  atomic { items > 0 -> items-- };
  atomic { !m -> m = true };
  buffer ? item;
  m = false;
  spaces++;
  assert(!taken[item]);
  atomic { taken[item] = true; item = 0 };
end:
  false
}
