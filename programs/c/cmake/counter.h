// How many jobs are done, in C.

#ifndef COUNTER_H
#define COUNTER_H

#ifdef __cplusplus
extern "C" {
#endif

void counter_add(int n);
int counter_value(void);

#ifdef __cplusplus
}
#endif

#endif
