//! Programs with one special execution, which comes late: tests of searches that are divided, killed and resumed.

/// One violation, in the 704th of 720 executions: the writers run in the order 1, 2, 5, 4, 3, 0. Each knows who comes
/// before it.
pub(crate) const IN_SEL: &str = "\
shared x = 9;
shared ordered = true;
proc follow(i: int, other: int) { atomic { if x != other { ordered = false; } x = i; } }
thread a { follow(0, 3); }
thread b { follow(1, 9); }
thread c { follow(2, 1); }
thread d { follow(3, 4); }
thread e { follow(4, 5); }
thread f { follow(5, 2); }
finally { assert !(ordered && x == 0); }
";

/// A violation that one of eight executions shows, and that a search which begins with the writers comes to last.
pub(crate) const EARLY: &str = "\
shared x = 1;
thread writer(i in 0..7) { x = i + 2; }
thread reader { let v = x; assert v != 1; }
";

/// Returns a C program in which the execution is special that runs the writers in this order, one of N!. Then, by the macro
/// `WHAT`, it fails (1), crashes (2), shares a variable on a stack, so that the search begins again (3), or does not end (4).
pub(crate) fn in_c(order: &[usize]) -> String {
    let mut before = vec![9; order.len()];
    order.windows(2).for_each(|pair| before[pair[1]] = pair[0]);
    let before: Vec<_> = before.iter().map(usize::to_string).collect();
    let writers = format!(
        "enum {{ N = {} }};\nconst int before[N] = {{ {} }};\n",
        order.len(),
        before.join(", ")
    );
    IN_C.replace("WRITERS\n", &writers)
}

const IN_C: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

WRITERS
atomic_int x = 9;
int follows[N];

void *follow(void *number) {
    int i = *(int *)number;
    follows[i] = atomic_exchange(&x, i) == before[i];
    return 0;
}

void *look(void *local) { return ++*(int *)local, local; }

int main(void) {
    pthread_t threads[N], other;
    int numbers[N], special = x == 9, seen = 0;
    for (int i = 0; i < N; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], 0, follow, &numbers[i]);
    }
    for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < N; i++) special &= follows[i];
    if (special) {
#if WHAT == 1
        assert(x != 0);
#elif WHAT == 2
        *(volatile int *)0 = 1;
#elif WHAT == 3
        pthread_create(&other, 0, look, &seen);
        seen++;
        pthread_join(other, 0);
#elif WHAT == 4
        for (;;);
#endif
    }
    return 0;
}
";
