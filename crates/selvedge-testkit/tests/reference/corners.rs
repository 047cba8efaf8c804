//! Small programs about which a reader of the page could be in doubt.

/// Each with the question that it answers.
pub(super) const PROGRAMS: &[(&str, &str)] = &[
    (
        "a ghost before the first visible operation is a step",
        "\
         ghost g = 0;\n\
         shared x = 0;\n\
         thread p { g = 1; g = 2; x = 1; }\n\
         thread q { assert g != 1; let v = x; assert g == 2 || v == 0; }\n",
    ),
    (
        "a ghost belongs to the step before, also behind a lock, a wait and a section",
        "\
         ghost g = 0;\n\
         mutex m;\n\
         cond c;\n\
         shared x = 0;\n\
         thread p { lock m; g = 1; if x == 0 { wait(c, m); g = 2; } unlock m; g = 3; }\n\
         thread q { lock m; x = 1; assert g != 1; unlock m; signal(c); atomic { x = 2; } g = 4; }\n\
         finally { assert g == 3 || g == 4; }\n",
    ),
    (
        "an update by a routine, and what an invariant says after it",
        "\
         ghost inside = 0;\n\
         shared x = 0;\n\
         always inside <= 1;\n\
         proc enter() { x = x + 1; inside += 1; }\n\
         thread p(i in 0..2) { enter(); inside -= 1; x = 0; }\n",
    ),
    (
        "an invariant over the count of a semaphore, and several ups in one step",
        "\
         semaphore s = 0;\n\
         always count(s) <= 2;\n\
         thread p(i in 0..2) { up(s, 2); down(s); }\n\
         thread q { down(s); down(s); let v = count(s); assert v <= 1; up(s, v - 1); }\n",
    ),
    (
        "which semaphore is raised, and by how much, is known before the step",
        "\
         semaphore ss[2] = 0;\n\
         shared x = 0;\n\
         thread p { up(ss[choose(0..2)], 2); up(ss[x], x); }\n\
         thread q { x = 1; x = 2; }\n\
         finally { assert count(ss[1]) <= 2; }\n",
    ),
    (
        "an index of what is passed is evaluated and checked at the call",
        "\
         shared g[2][2] = 0;\n\
         shared x = 0;\n\
         proc row(a: shared int[], k: int) { x = 3; a[k] = 1; one(a[1 - k]); }\n\
         proc one(v: shared int) { v += x; }\n\
         thread p { row(g[x], x); spawn one(g[x][x]); }\n\
         thread q { x = 1; }\n\
         finally { assert g[1][0] != 1; }\n",
    ),
    (
        "a monitor tells of an end that was, of one that is to come, and of none",
        "\
         shared x = 0;\n\
         thread p { x = 1; send q(1); }\n\
         daemon thread d { await x == 9; }\n\
         thread q { receive (1) { skip; } monitor p(2, x); monitor d(2, 7); monitor q(3);\n\
             receive (2, let v) { assert v == 1; } receive { (let v) => { assert v == 3; } after => { x = 2; } } }\n\
         finally { assert x == 2; }\n",
    ),
    (
        "a message to a thread that may have ended",
        "\
         shared x = 0;\n\
         thread p { receive { (1) => { x = 1; } after => { skip; } } }\n\
         thread q { let sent = try_send(p, 1); if !sent { x = 2; } try_send(q, 3); }\n\
         finally { assert x != 2; }\n",
    ),
    (
        "a ghost that no property reads is left out",
        "\
         ghost g = 0;\n\
         ghost h = 0;\n\
         shared x = 0;\n\
         thread p { g = 1; h = 1 / (g - 1); x = 1; }\n\
         thread q { x = 2; }\n",
    ),
    (
        "a failure before the first visible operation is a step",
        "\
         shared x = 0;\n\
         thread p { assert false; x = 1; }\n\
         thread q { let v = x; x = 2; }\n",
    ),
    (
        "an assume before the first visible operation is no step",
        "\
         shared x = 0;\n\
         thread p { assume false; x = 1; }\n\
         thread q { let v = x; x = 2; }\n",
    ),
    (
        "a task that fails before its first visible operation",
        "\
         shared x = 0;\n\
         proc bad() { assert false; x = 1; }\n\
         thread p { spawn bad(); x = 3; }\n\
         thread q { let v = x; x = 2; }\n",
    ),
    (
        "a task that assumes before its first visible operation",
        "\
         shared x = 0;\n\
         proc bad() { assume false; x = 1; }\n\
         thread p { spawn bad(); x = 3; }\n\
         thread q { let v = x; x = 2; }\n",
    ),
    (
        "a task without visible operations",
        "\
         shared x = 0;\n\
         proc nothing() { skip; }\n\
         thread p { let h = spawn nothing(); join h; x = 3; }\n\
         thread q { let v = x; x = 2; }\n",
    ),
    (
        "a violation after an assume that is false",
        "\
         shared x = 0;\n\
         thread p { x = 1; assume false; }\n\
         thread q { let v = x; assert v == 0; }\n",
    ),
    (
        "an assume in an atomic block that has written",
        "\
         shared x = 0;\n\
         thread p { atomic { x = 1; assume false; } }\n\
         thread q { let v = x; assert v == 0; }\n",
    ),
    (
        "one thread fails, another is stopped by its assume",
        "\
         shared x = 0;\n\
         thread p { x = 1; assume false; }\n\
         thread q { let v = x; assert v == 7; }\n\
         thread r { await x == 5; }\n",
    ),
    (
        "an index out of bounds is found by local code",
        "\
         shared a[2] = 0;\n\
         shared x = 0;\n\
         thread p { let v = x; a[v + 2] = 1; }\n\
         thread q { let v = x; x = 2; }\n",
    ),
    (
        "an index out of bounds at the start",
        "\
         shared a[2] = 0;\n\
         shared x = 0;\n\
         thread p { a[2] = x; }\n\
         thread q { x = 2; }\n",
    ),
    (
        "the index of an assignment is checked",
        "\
         shared a[2] = 0;\n\
         shared x = 0;\n\
         shared y = 0;\n\
         thread p { x = 1; a[2] = y; }\n\
         thread q { y = 1; y = 2; }\n",
    ),
    (
        "the index of a compound assignment is checked",
        "\
         shared a[2] = 0;\n\
         shared x = 0;\n\
         shared y = 0;\n\
         thread p { x = 1; a[2] += y; }\n\
         thread q { y = 1; y = 2; }\n",
    ),
    (
        "the index of a read-modify-write is checked",
        "\
         shared a[2] = 0;\n\
         shared x = 0;\n\
         shared y = 0;\n\
         thread p { x = 1; fetch_add(a[2], y); }\n\
         thread q { y = 1; y = 2; }\n",
    ),
    (
        "the first index of two is checked",
        "\
         shared g[2][2] = 0;\n\
         shared x = 0;\n\
         shared y = 0;\n\
         thread p { x = 1; let v = g[2][y]; }\n\
         thread q { y = 1; y = 2; }\n",
    ),
    (
        "the index of a thread is checked",
        "\
         shared x = 0;\n\
         shared y = 0;\n\
         thread p { x = 1; send r[5](y); }\n\
         thread q { y = 1; y = 2; }\n\
         thread r(i in 0..2) { x = 2; }\n",
    ),
    (
        "a choice from nothing",
        "\
         shared x = 0;\n\
         thread p { let v = choose(3..x); }\n\
         thread q { x = 5; }\n",
    ),
    (
        "a reader tries to read again",
        "\
         rwlock rw;\n\
         shared x = 0;\n\
         thread p { read_lock rw; if try_read_lock(rw) { x = 1; read_unlock rw; } read_unlock rw; }\n",
    ),
    (
        "a holder of a reader-writer lock asks for it again",
        "\
         rwlock rw;\n\
         shared x = 0;\n\
         thread p { read_lock rw; if try_write_lock(rw) { x = 1; } read_unlock rw; write_lock rw; if try_read_lock(rw) { x = 2; } if try_write_lock(rw) { x = 3; } read_lock rw; }\n",
    ),
    (
        "a holder of a mutex asks for it again",
        "\
         mutex m;\n\
         shared x = 0;\n\
         thread p { lock m; if try_lock(m) { x = 1; } x = 2; lock m; }\n",
    ),
    (
        "a thread joins itself",
        "\
         shared x = 0;\n\
         thread p { x = 1; join p; }\n",
    ),
    (
        "a thread that failed is joined",
        "\
         shared x = 0;\n\
         thread p { x = 1; assert false; }\n\
         thread q { await x == 1; join p; x = 2; assert false; }\n",
    ),
    (
        "the remainder of a quotient that overflows",
        "\
         shared x = 0;\n\
         thread p { let v = -2147483648 % -1; x = v; }\n\
         thread q { let v = x - 2147483647 - 1; x = v % (-1); }\n",
    ),
    (
        "a barrier of one thread",
        "\
         shared x = 0;\n\
         barrier b(1);\n\
         thread p { arrive(b); x = 1; }\n\
         thread q { x = 2; }\n",
    ),
    (
        "an await whose condition fails",
        "\
         shared x = 0;\n\
         thread p { await 1 / x == 1; }\n\
         thread q { x = 1; }\n",
    ),
    (
        "a message to a thread that failed",
        "\
         shared x = 0;\n\
         thread p { x = 1; assert false; }\n\
         thread q { await x == 1; send p(1); x = 2; }\n",
    ),
    (
        "a message to a thread that an assume stops",
        "\
         shared x = 0;\n\
         thread p { x = 1; assume false; }\n\
         thread q { await x == 1; send p(1); x = 2; }\n",
    ),
    (
        "a finally block that fails otherwise",
        "\
         shared x = 0;\n\
         thread p { x = 1; }\n\
         finally { assert 1 / (x - 1) == 0; }\n",
    ),
    (
        "finally runs while a daemon waits",
        "\
         shared x = 0;\n\
         daemon thread d { await x == 5; x = 7; }\n\
         thread p { x = choose(4..6); }\n\
         finally { assert x != 4; assert x != 7; }\n",
    ),
    (
        "a daemon waits in a deadlock",
        "\
         mutex m;\n\
         thread p { lock m; }\n\
         daemon thread d { lock m; }\n\
         thread q {\n\
         lock m; }\n",
    ),
    (
        "an atomic block that fails keeps what it has written",
        "\
         shared x = 0;\n\
         shared y = 0;\n\
         thread p { atomic { x = 1; assert y == 1; x = 2; } }\n\
         thread q { let v = x; assert v != 1; assert v != 2; }\n",
    ),
    (
        "a pattern that fails",
        "\
         shared x = 0;\n\
         thread p { let v = x; receive { (1, (6 / v)) => { x = 3; } (_, _) => { x = 4; } } }\n\
         thread q { send p(2, 2); }\n\
         thread r { send p(1, 2); }\n",
    ),
    (
        "booleans in messages",
        "\
         shared x = 0;\n\
         thread p { receive (let a, true) { x = a; } receive (let c) { x += c; } }\n\
         thread q { send p(3, true); send p(-1); }\n",
    ),
    (
        "the index of a thread is computed",
        "\
         shared x = 0;\n\
         thread p(i in 1..3) { let v = x; if v == 5 { send p[v](1); } join p[v]; }\n\
         thread q { x = 5; }\n",
    ),
    (
        "999 nested calls",
        "\
         proc d(n: int) { if n > 0 { d(n - 1); } }\n\
         thread p { d(998); }\n",
    ),
    (
        "1000 nested calls, and the thread: one too many",
        "\
         proc d(n: int) { if n > 0 { d(n - 1); } }\n\
         thread p { d(999); }\n",
    ),
    (
        "1001 nested calls",
        "\
         proc d(n: int) { if n > 0 { d(n - 1); } }\n\
         thread p { d(1000); }\n",
    ),
    (
        "nested calls of a task",
        "\
         proc d(n: int) { if n > 0 { d(n - 1); } }\n\
         thread p { spawn d(998); spawn d(999); }\n",
    ),
    (
        "nested calls by threads that meet",
        "\
         shared x = 0;\n\
         proc down1(n: int) { if n > 0 { down1(n - 1); } }\n\
         thread p { down1(x); down1(998); x = 998; }\n\
         thread q { down1(x); down1(999); x = 999; }\n\
         thread r { down1(x); down1(1000); x = 1000; }\n",
    ),
    (
        "a compound assignment evaluates its index once",
        "\
         shared x = 0;\n\
         shared i = 0;\n\
         shared a[2] = 0;\n\
         thread p { a[i] += x; }\n\
         thread q { i = 1; x = 5; a[0] = 2; }\n",
    ),
    (
        "operands are evaluated from left to right",
        "\
         shared x = 0;\n\
         fn f(k: int) -> int { x += k; return x; }\n\
         thread p { let v = f(1) + f(2) * f(3); assert v > 0; }\n\
         thread q { x = 10; }\n",
    ),
    (
        "indices of lists",
        "\
         list q = [1];\n\
         shared x = 0;\n\
         thread p { x = q[-1]; }\n\
         thread r { q[1] = 4; }\n\
         thread u { let v = x; q[v + 3] += x; }\n",
    ),
    (
        "the release at the end of a block fails there",
        "\
         mutex m;\n\
         thread p { lock m {\n\
         unlock m;\n\
         }\n\
         }\n",
    ),
    (
        "the release at an exit fails there",
        "\
         mutex m;\n\
         rwlock rw;\n\
         thread p { for i in 0..2 {\n\
         write_lock rw { lock m {\n\
         if i == 0 { continue; }\n\
         write_unlock rw;\n\
         break;\n\
         } }\n\
         } }\n\
         thread q { lock m { unlock m;\n\
         return; } }\n",
    ),
    (
        "a list is found before the index in it is evaluated",
        "\
         shared x = 1;\n\
         shared y = 0;\n\
         list qs[2];\n\
         thread p { qs[x + 1][y] += y; }\n\
         thread q { push(qs[x + 1], y); }\n\
         thread r { x = qs[y - x][y]; }\n",
    ),
];
