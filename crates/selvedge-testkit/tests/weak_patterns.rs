//! Idioms of lock-free code, right and with wrong orderings: what is wrong with each variant under each memory model,
//! and how many executions it has. Data races are judged by the orderings under every model.

use selvedge_core::Order;
use selvedge_explore::Memory;
use selvedge_testkit::litmus::{
    Condition, Instruction, LitmusProgram, Trouble, Value, add, assert_that, assume, await_is,
    await_swap, cas, fence, join, load, lock, plus, skip_unless, store, swap, tally, unlock,
};

use Order::{AcqRel, Acquire, NonAtomic, Relaxed, Release, SeqCst};
use Trouble::{Assert, Fine, Race, Stuck};

type Code = Vec<Instruction>;

fn is(register: usize, value: i64) -> Condition {
    Condition::Is(plus(register, 0), Value::Constant(value))
}

fn is_not(register: usize, value: i64) -> Condition {
    Condition::IsNot(plus(register, 0), Value::Constant(value))
}

fn less(register: usize, value: i64) -> Condition {
    Condition::Less(plus(register, 0), Value::Constant(value))
}

/// Expected: what is wrong, and how many executions, under SC, TSO and RC11.
fn check(variant: &str, threads: Vec<Code>, trouble: [Trouble; 3], counts: [usize; 3]) {
    check_from(variant, LitmusProgram::new(threads), trouble, counts);
}

fn check_from(variant: &str, program: LitmusProgram, trouble: [Trouble; 3], counts: [usize; 3]) {
    let models = [Memory::Sc, Memory::Tso, Memory::Rc11];
    let tallies = models.map(|memory| tally(&program, memory, &|_| false));
    let found = tallies.each_ref().map(|tally| tally.met);
    assert_eq!((tallies.each_ref().map(|t| t.trouble()), found), (trouble, counts), "{variant}");
}

/// The fence, if there is one.
fn maybe(order: Option<Order>) -> Code {
    order.map(fence).into_iter().collect()
}

fn code(parts: Vec<Code>) -> Code {
    parts.concat()
}

#[test]
fn publish_a_value() {
    let (data, flag) = (0, 1);
    let reader = |order, fenced: Option<Order>| {
        let body = code(vec![maybe(fenced), vec![load(1, data, NonAtomic)]]);
        code(vec![vec![load(0, flag, order), skip_unless(is_not(0, 0), body.len())], body])
    };
    let writer = |order| vec![store(data, 1, NonAtomic), store(flag, 1, order)];
    check("right", vec![writer(Release), reader(Acquire, None)], [Fine; 3], [2, 2, 2]);
    check("store Relaxed", vec![writer(Relaxed), reader(Acquire, None)], [Race; 3], [2, 2, 3]);
    check("load Relaxed", vec![writer(Release), reader(Relaxed, None)], [Race; 3], [2, 2, 3]);
    let fenced = vec![store(data, 1, NonAtomic), fence(Release), store(flag, 1, Relaxed)];
    check("fences", vec![fenced, reader(Relaxed, Some(Acquire))], [Fine; 3], [2, 2, 2]);
    let late = vec![store(data, 1, NonAtomic), store(flag, 1, Relaxed), fence(Release)];
    check("fence too late", vec![late, reader(Relaxed, Some(Acquire))], [Race; 3], [2, 2, 3]);
}

#[test]
fn release_sequence() {
    let (data, s) = (0, 1);
    let threads = |second| {
        let reader = vec![load(0, s, Acquire), skip_unless(is(0, 2), 1), load(1, data, NonAtomic)];
        vec![vec![store(data, 1, NonAtomic), store(s, 1, Release), second], reader]
    };
    check("fetch_add", threads(add(0, s, 1, Relaxed)), [Fine; 3], [3, 3, 3]);
    check("store", threads(store(s, 2, Relaxed)), [Race; 3], [3, 3, 4]);
}

#[test]
fn spinlock() {
    let (l, c) = (0, 1);
    for (taking, giving, trouble, rc11) in
        [(Acquire, Release, Fine, 2), (Acquire, Relaxed, Race, 6), (Relaxed, Release, Race, 6)]
    {
        let thread = vec![
            await_swap(0, l, (0, 1), taking),
            load(1, c, NonAtomic),
            store(c, plus(1, 1), NonAtomic),
            store(l, 0, giving),
        ];
        check("spinlock", vec![thread.clone(), thread], [trouble; 3], [2, 2, rc11]);
    }
}

#[test]
fn ticket_lock() {
    let (next, serving, c) = (0, 1, 2);
    for (giving, trouble, rc11) in [(Release, Fine, 2), (Relaxed, Race, 6)] {
        let thread = vec![
            add(0, next, 1, Relaxed),
            await_is(1, serving, plus(0, 0), Acquire),
            load(2, c, NonAtomic),
            store(c, plus(2, 1), NonAtomic),
            store(serving, plus(0, 1), giving),
        ];
        check("ticket lock", vec![thread.clone(), thread], [trouble; 3], [2, 2, rc11]);
    }
}

#[test]
fn reference_count() {
    let (count, object) = (0, 1);
    for (order, fenced, trouble) in [
        (Release, Some(Acquire), Fine),
        (Release, None, Race),
        (Relaxed, Some(Acquire), Race),
        (AcqRel, None, Fine),
    ] {
        let last = code(vec![maybe(fenced), vec![store(object, 0, NonAtomic)]]);
        let thread = code(vec![
            vec![
                load(0, object, NonAtomic),
                add(1, count, -1, order),
                skip_unless(is(1, 1), last.len()),
            ],
            last,
        ]);
        let program = LitmusProgram::new(vec![thread.clone(), thread]).with_initial(&[(count, 2)]);
        check_from("drop", program, [trouble; 3], [2, 2, 2]);
    }
}

#[test]
fn seqlock() {
    let (seq, a, b) = (0, 1, 2);
    for (writing, reading, first, trouble, rc11) in [
        (Some(Release), Some(Acquire), Acquire, Fine, 11),
        (None, Some(Acquire), Acquire, Assert, 14),
        (Some(Release), None, Acquire, Assert, 14),
        (Some(Release), Some(Acquire), Relaxed, Assert, 14),
    ] {
        let writer = code(vec![
            vec![store(seq, 1, Relaxed)],
            maybe(writing),
            vec![store(a, 1, Relaxed), store(b, 1, Relaxed), store(seq, 2, Release)],
        ]);
        let body = code(vec![
            vec![load(1, a, Relaxed), load(2, b, Relaxed)],
            maybe(reading),
            vec![
                load(3, seq, Relaxed),
                skip_unless(Condition::Is(plus(3, 0), plus(0, 0)), 1),
                assert_that(Condition::Is(plus(1, 0), plus(2, 0))),
            ],
        ]);
        let reader =
            code(vec![vec![load(0, seq, first), skip_unless(is_not(0, 1), body.len())], body]);
        check("seqlock", vec![writer, reader], [Fine, Fine, trouble], [11, 11, rc11]);
    }
}

#[test]
fn peterson() {
    let (turn, cs) = (2, 3);
    let threads = |w, r, late: Option<Order>, early: Option<Order>, swapped: Option<Order>| {
        let thread = |me, you, mine: i64| {
            let yields = match swapped {
                Some(order) => swap(2, turn, mine, order),
                None => store(turn, mine, w),
            };
            code(vec![
                vec![store(me, 1, w)],
                maybe(early),
                vec![yields],
                maybe(late),
                vec![
                    load(0, you, r),
                    skip_unless(is(0, 1), 2),
                    load(1, turn, r),
                    assume(is_not(1, mine)),
                    store(cs, mine, NonAtomic),
                    store(me, 0, Release),
                ],
            ])
        };
        vec![thread(0, 1, 1), thread(1, 0, 0)]
    };
    let (none, sc) = (None, Some(SeqCst));
    check("SeqCst", threads(SeqCst, SeqCst, none, none, none), [Fine; 3], [10, 10, 10]);
    let weak = threads(Release, Acquire, none, none, none);
    check("Release / Acquire", weak, [Fine, Race, Race], [10, 22, 22]);
    let one = threads(Release, Acquire, sc, none, none);
    check("one fence", one, [Fine, Fine, Race], [10, 10, 16]);
    check("two fences", threads(Release, Acquire, sc, sc, none), [Fine; 3], [10, 10, 10]);
    let swaps = threads(Relaxed, Acquire, none, none, Some(AcqRel));
    check("swap(AcqRel)", swaps, [Fine; 3], [10, 10, 10]);
    let swaps = threads(Relaxed, Acquire, none, none, Some(Relaxed));
    check("swap(Relaxed)", swaps, [Fine, Fine, Race], [10, 10, 22]);
    let weak = threads(Release, Acquire, Some(AcqRel), none, none);
    check("fence(AcqRel)", weak, [Fine, Race, Race], [10, 22, 22]);
}

#[test]
fn dekker_entry() {
    let cs = 2;
    let threads = |w, fenced: Option<Order>| {
        let thread = |me, you| {
            code(vec![
                vec![store(me, 1, w)],
                maybe(fenced),
                vec![load(0, you, Acquire), skip_unless(is(0, 0), 1), store(cs, 1, NonAtomic)],
            ])
        };
        vec![thread(0, 1), thread(1, 0)]
    };
    check("fences", threads(Relaxed, Some(SeqCst)), [Fine; 3], [3, 3, 3]);
    check("no fence", threads(Release, None), [Fine, Race, Race], [3, 5, 5]);
}

#[test]
fn double_checked_initialisation() {
    let (done, value) = (0, 1);
    for (fast, publish, trouble, rc11) in
        [(Acquire, Release, Fine, 4), (Relaxed, Release, Race, 6), (Acquire, Relaxed, Race, 6)]
    {
        let thread = vec![
            load(0, done, fast),
            skip_unless(is(0, 0), 6),
            lock(0),
            load(1, done, Relaxed),
            skip_unless(is(1, 0), 2),
            store(value, 1, NonAtomic),
            store(done, 1, publish),
            unlock(0),
            load(2, value, NonAtomic),
        ];
        check("initialisation", vec![thread.clone(), thread], [trouble; 3], [4, 4, rc11]);
    }
}

#[test]
fn once() {
    let (state, value) = (0, 1);
    for (failure, trouble, rc11) in [(Acquire, Fine, 4), (Relaxed, Race, 6)] {
        let thread = vec![
            cas(0, state, (0, 1), (Acquire, failure)),
            skip_unless(is(0, 0), 2),
            store(value, 1, NonAtomic),
            store(state, 2, Release),
            skip_unless(is(0, 2), 1),
            load(1, value, NonAtomic),
        ];
        check("once", vec![thread.clone(), thread], [trouble; 3], [4, 4, rc11]);
    }
}

#[test]
fn ring_of_one_producer_and_one_consumer() {
    let (slot, tail, head) = (0, 1, 2);
    for (write_tail, write_head, read_head, trouble, rc11) in [
        (Release, Release, Acquire, Fine, 3),
        (Relaxed, Release, Acquire, Race, 5),
        (Release, Relaxed, Acquire, Race, 3),
        (Release, Release, Relaxed, Race, 3),
    ] {
        let producer = vec![
            store(slot, 1, NonAtomic),
            store(tail, 1, write_tail),
            load(0, head, read_head),
            skip_unless(is(0, 1), 2),
            store(slot, 2, NonAtomic),
            store(tail, 2, write_tail),
        ];
        let consumer = vec![
            load(0, tail, Acquire),
            skip_unless(is_not(0, 0), 2),
            load(1, slot, NonAtomic),
            store(head, 1, write_head),
        ];
        check("ring", vec![producer, consumer], [trouble; 3], [3, 3, rc11]);
    }
}

#[test]
fn treiber_stack() {
    let (node, top) = (0, 1);
    for (push, trouble, rc11) in [(Release, Fine, 2), (Relaxed, Race, 3)] {
        let pusher = vec![store(node, 7, NonAtomic), cas(0, top, (0, 1), (push, Relaxed))];
        let popper = vec![
            load(0, top, Acquire),
            skip_unless(is(0, 1), 3),
            cas(1, top, (1, 0), (Acquire, Relaxed)),
            skip_unless(is(1, 1), 1),
            load(2, node, NonAtomic),
        ];
        check("stack", vec![pusher, popper], [trouble; 3], [2, 2, rc11]);
    }
}

#[test]
fn chase_lev_deque() {
    let (bottom, top, item) = (0, 1, 2);
    let sc = Some(SeqCst);
    for (take, steal, trouble, counts) in [
        (sc, sc, [Fine; 3], [28, 28, 28]),
        (None, sc, [Fine, Race, Race], [28, 32, 32]),
        (sc, None, [Fine, Fine, Race], [28, 28, 32]),
    ] {
        let owner = code(vec![
            vec![store(bottom, 1, Relaxed)],
            maybe(take),
            vec![
                load(0, top, Relaxed),
                skip_unless(less(0, 1), 2),
                load(1, item, NonAtomic),
                store(item, 9, NonAtomic),
            ],
        ]);
        let thief = code(vec![
            vec![load(0, top, Acquire)],
            maybe(steal),
            vec![
                load(1, bottom, Acquire),
                skip_unless(Condition::Less(plus(0, 0), plus(1, 0)), 3),
                skip_unless(is(0, 1), 1),
                load(2, item, NonAtomic),
                cas(3, top, (plus(0, 0), plus(0, 1)), (SeqCst, Relaxed)),
            ],
        ]);
        let program = LitmusProgram::new(vec![owner, thief.clone(), thief]);
        check_from("deque", program.with_initial(&[(bottom, 2)]), trouble, counts);
    }
}

#[test]
fn hazard_pointer() {
    let (active, pointer, old) = (0, 1, 2);
    let (sc, ar) = (Some(SeqCst), Some(AcqRel));
    for (reading, writing, trouble, counts) in [
        (sc, sc, [Fine; 3], [5, 5, 5]),
        (None, sc, [Fine, Race, Race], [5, 7, 7]),
        (sc, None, [Fine, Race, Race], [5, 7, 7]),
        (ar, ar, [Fine, Race, Race], [5, 7, 7]),
    ] {
        let reader = code(vec![
            vec![store(active, 1, Relaxed)],
            maybe(reading),
            vec![
                load(0, pointer, Acquire),
                skip_unless(is(0, 0), 1),
                load(1, old, NonAtomic),
                store(active, 0, Release),
            ],
        ]);
        let writer = code(vec![
            vec![store(pointer, 1, Release)],
            maybe(writing),
            vec![load(0, active, Acquire), skip_unless(is(0, 0), 1), store(old, 9, NonAtomic)],
        ]);
        check("hazard pointer", vec![reader, writer], trouble, counts);
    }
}

#[test]
fn the_last_one_in_reads_all() {
    let n = 2;
    for (order, trouble, rc11) in [(AcqRel, Fine, 2), (Relaxed, Race, 4), (Release, Race, 4)] {
        let thread = |me, you| {
            vec![
                store(me, 1, NonAtomic),
                add(0, n, 1, order),
                skip_unless(is(0, 1), 1),
                load(1, you, NonAtomic),
            ]
        };
        check("barrier", vec![thread(0, 1), thread(1, 0)], [trouble; 3], [2, 2, rc11]);
    }
}

#[test]
fn lost_wake_up() {
    let (sleeping, work, token) = (0, 1, 2);
    for (fenced, trouble, counts) in [
        (Some(SeqCst), [Fine; 3], [3, 3, 3]),
        (None, [Fine, Stuck, Stuck], [3, 4, 4]),
        (Some(AcqRel), [Fine, Stuck, Stuck], [3, 4, 4]),
    ] {
        let sleeper = code(vec![
            vec![store(sleeping, 1, Relaxed)],
            maybe(fenced),
            vec![
                load(0, work, Relaxed),
                skip_unless(is(0, 0), 1),
                await_swap(1, token, (1, 0), Acquire),
            ],
        ]);
        let waker = code(vec![
            vec![store(work, 1, Relaxed)],
            maybe(fenced),
            vec![load(0, sleeping, Relaxed), skip_unless(is(0, 1), 1), swap(1, token, 1, Release)],
        ]);
        check("park", vec![sleeper, waker], trouble, counts);
    }
}

#[test]
fn hand_over() {
    let (c, locked) = (0, 1);
    for (order, trouble, rc11) in [(Release, Fine, 1), (Relaxed, Race, 2)] {
        let owner = vec![store(c, 1, NonAtomic), store(locked, 0, order)];
        let next = vec![await_is(0, locked, 0, Acquire), load(1, c, NonAtomic)];
        let program = LitmusProgram::new(vec![owner, next]).with_initial(&[(locked, 1)]);
        check_from("hand-over", program, [trouble; 3], [1, 1, rc11]);
    }
}

#[test]
fn two_observers() {
    let disagree = 2;
    for (order, trouble, rc11) in [(SeqCst, Fine, 15), (Acquire, Assert, 17)] {
        let observer = |x, y| {
            vec![
                load(0, x, order),
                load(1, y, order),
                skip_unless(is(0, 1), 3),
                skip_unless(is(1, 0), 2),
                add(2, disagree, 1, Relaxed),
                assert_that(is_not(2, 1)),
            ]
        };
        let threads = vec![
            vec![store(0, 1, SeqCst)],
            vec![store(1, 1, SeqCst)],
            observer(0, 1),
            observer(1, 0),
        ];
        check("observers", threads, [Fine, Fine, trouble], [15, 15, rc11]);
    }
}

#[test]
fn counter_read_after_join() {
    let hits = 0;
    let reader = || vec![join(0), join(1), load(0, hits, Relaxed), assert_that(is(0, 2))];
    let update = vec![add(0, hits, 1, Relaxed)];
    check("fetch_add", vec![update.clone(), update, reader()], [Fine; 3], [2, 2, 2]);
    let two_steps = vec![load(0, hits, Relaxed), store(hits, plus(0, 1), Relaxed)];
    check("two steps", vec![two_steps.clone(), two_steps, reader()], [Assert; 3], [4, 4, 4]);
}
