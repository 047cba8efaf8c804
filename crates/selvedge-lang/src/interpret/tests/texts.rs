//! Programs as users write them, with every construct of the language.

use std::sync::Arc;

use crate::ir::Program;

pub(super) fn all() -> Vec<(&'static str, Arc<Program>)> {
    TEXTS
        .iter()
        .map(|&(name, text)| match crate::compile(name, text, &[]) {
            Ok(compiled) => (name, compiled.program),
            Err(errors) => panic!("{}", crate::render(&errors, name, text, false)),
        })
        .collect()
}

const TEXTS: [(&str, &str); 11] = [
    (
        "expressions",
        "const N = 2;
         shared x = 1; shared a[N + 1] = [1, 2, 3]; shared grid[N][N] = 0; shared ok = true;
         fn largest(p: int, q: int) -> int { if p > q { return p; } return q; }
         fn seen(i: int) -> int { return a[i] + x; }
         thread t(i in 0..N) {
             let v = largest(seen(i), seen(i + 1));
             grid[i][1 - i] = if v > 3 && ok { -v } else { abs(v - 9) };
             for k in 0..2 { if k == 1 { continue; } a[k] += min(v, 4) * max(k, 2) / 2 % 5; }
             while x < 3 { x += 1; if x == 2 || !ok { break; } }
             ok = x != 2;
         }
         finally { assert grid[0][1] != 0 && ok || x == 3, \"or not\"; }",
    ),
    (
        "scoped locks",
        "mutex m[2]; rwlock rw; shared x = 0;
         fn guarded(i: int) -> int { lock m[i] { if x > 1 { return x; } x += 1; } return -1; }
         thread t(i in 0..2) {
             let v = guarded(i);
             for k in 0..2 { write_lock rw { if x > 2 { break; } x += 1; } }
             read_lock rw { v = x; }
             if try_lock(m[1 - i]) { unlock m[1 - i]; }
             if try_read_lock(rw) { read_unlock rw; }
             if try_write_lock(rw) { x = v; write_unlock rw; }
         }",
    ),
    (
        "bounded buffer",
        "const SIZE = 1; list buffer; mutex m; cond changed;
         thread producer(i in 0..2) {
             lock m { while len(buffer) == SIZE { wait(changed, m); } push(buffer, i);
                      broadcast(changed); }
         }
         thread consumer {
             for k in 0..2 {
                 lock m { while len(buffer) == 0 { wait(changed, m); }
                          let v = pop_front(buffer); signal(changed); }
             }
         }",
    ),
    (
        "semaphores and barriers",
        "semaphore s[2] = 1; barrier b(2); shared x = 0;
         thread t(i in 0..2) {
             down(s[i]); x += 1; arrive(b); up(s[1 - i]);
             if try_down(s[0]) { x = 7; }
             arrive(b); down(s[1]);
         }
         thread late { arrive(b); }",
    ),
    (
        "atomic blocks",
        "shared balance = 2; shared turn = 0; map log; list order;
         atomic proc deposit(v: int) { balance += v; log[v] = balance; }
         atomic proc withdraw(v: int) { await balance >= v; balance -= v; }
         independent(deposit(a), withdraw(b)) if balance >= b && a > 0;
         thread d { deposit(3); atomic last { if turn == 0 { assume balance > 1; } push(order, 1); } }
         thread w { withdraw(4); deposit(1); spawn deposit(9); }
         thread o {
             await turn == 1 && balance > 0 || len(order) == 1;
             atomic { turn = 2; let old = exchange(balance, 0);
                      assert compare_exchange(turn, 2, old) || old < 0; remove(log, old); }
         }
         thread f { turn = 1; atomic { let v = 6 / (balance - 2); balance = v; } }",
    ),
    (
        "tasks",
        "shared x = 0;
         proc leaf(k: int) { x += k; if x > 3 { assert k != 2, \"too much\"; } }
         proc node(depth: int) {
             if depth == 0 { leaf(1); return; }
             let left = spawn node(depth - 1);
             if x == 0 { let right = spawn leaf(2); join right; }
             join left;
         }
         thread main { let root = spawn node(2); x = 1; join root; spawn leaf(3); }",
    ),
    (
        "actors",
        "const PING = 1; const PONG = 2; shared score = 0;
         daemon thread server {
             loop {
                 receive {
                     (PING, let who) if who > 0 => { score += who; send client[0](PONG); }
                     (PING, _) => { skip; }
                     (3) => { score = -1; }
                 }
             }
         }
         thread client(i in 0..2) {
             send server(PING, i);
             send self(4 + i);
             receive { (PONG) => { score += 10; } (let v) => { send client[1 - i](v); }
                       after => { yield; } }
             receive { (5, _) => { skip; } after => { send server(3); } }
         }",
    ),
    (
        "selective receive",
        "daemon thread server {
             let got = 0;
             loop {
                 if choose() { receive (2) { got += 1; } }
                 else { receive (let v) { got += v; } }
                 assert got < 17;
             }
         }
         thread a { send server(7); send server(2); }
         thread b { send server(8); send server(2); }",
    ),
    (
        "waiting at the end",
        "barrier b(2); mutex m; cond c; shared x = 0;
         proc arrives() { arrive(b); }
         proc waits() { lock m; wait(c, m); }
         proc waits_wrongly() { if x == 0 { lock m; x = 1; unlock m; } wait(c, m); }
         thread main {
             spawn arrives(); spawn waits(); spawn waits_wrongly();
             arrive(b); broadcast(c); lock m; broadcast(c); unlock m;
         }",
    ),
    (
        "choices and faults",
        "shared x = 0; shared a[2] = 0; list q; map table = {1: 2, 3: 4};
         thread t {
             let i = choose(0..3); a[i] = 1;
             if choose() { x = table[i]; } else { x = get(table, i, 9); }
             assert contains(q, i) || x != 4;
         }
         thread u { let v = pop(q); }
         thread w { push(q, 5); q_is(5); clear(q); clear(table); yield; }
         proc q_is(v: int) { assert q[0] == v; }",
    ),
    (
        "early ends",
        "shared x = 0; mutex m;
         proc maybe(k: int) { if x == k { return; } lock m; x = k; unlock m; }
         proc calls() { maybe(3); maybe(x); x = 4; }
         thread main {
             let a = spawn maybe(1); let b = spawn calls();
             join a; if x == 1 { unlock m; } join b;
         }
         thread idle { let v = 1; assert v == 1; }
         thread bad { let v = 0; assert v == 1; }",
    ),
];
