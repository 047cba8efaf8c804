//! Ranges of small programs, worked out by hand.

use selvedge_lang::compile;
use selvedge_lang::ir::{AtomicId, BinaryOp, GlobalId, Slot};

use super::Values;
use super::interval::Value;
use crate::caps::Caps;
use crate::circuit::Range;

/// The ranges of the shared variables, in the order of their declaration.
fn ranges(text: &str) -> Vec<Option<(i64, i64)>> {
    ranges_with(text, &Caps::default())
}

fn ranges_with(text: &str, caps: &Caps) -> Vec<Option<(i64, i64)>> {
    let program = compile("test.sel", text, &[]).expect("it compiles").program;
    let values = Values::of(&program, caps);
    let range = |index| values.of_global(GlobalId::new(index)).map(|it| (it.low, it.high));
    (0..program.globals.len()).map(range).collect()
}

/// All operators, on all ranges of a few values: no value that the language computes is missing, and what cannot fail does not.
#[test]
fn ranges_hold_what_the_language_computes() {
    use BinaryOp::*;
    let operators = [
        Add,
        Subtract,
        Multiply,
        Divide,
        Remainder,
        BitAnd,
        BitOr,
        BitXor,
        ShiftLeft,
        ShiftRight,
        Min,
        Max,
        Equal,
        NotEqual,
        Less,
        LessEqual,
        Greater,
        GreaterEqual,
    ];
    let ends = [i32::MIN, -2, -1, 0, 1, 2, i32::MAX];
    let pairs = || ends.iter().flat_map(|&low| ends.map(|high| (low, high)));
    let ranges = || pairs().filter(|&(low, high)| low <= high);
    for op in operators {
        for (a, b) in ranges().flat_map(|a| ranges().map(move |b| (a, b))) {
            let of = |(low, high): (i32, i32)| {
                Value::range(Range { low: i64::from(low), high: i64::from(high) })
            };
            let computed = Value::binary(op, of(a), of(b));
            let within = |x: i32, (low, high): (i32, i32)| low <= x && x <= high;
            for x in ends.into_iter().filter(|&x| within(x, a)) {
                for y in ends.into_iter().filter(|&y| within(y, b)) {
                    let at = format!("{x} {op:?} {y} in {a:?} and {b:?}: {computed:?}");
                    match (op.apply(x, y), &computed) {
                        (None, Ok(computed)) => assert!(computed.may_fail, "{at}"),
                        (None, Err(_)) => {}
                        (Some(result), Ok(computed)) => {
                            let Range { low, high } = computed.value.range;
                            assert!((low..=high).contains(&i64::from(result)), "{at}");
                        }
                        (Some(_), Err(_)) => panic!("{at}"),
                    }
                }
            }
        }
    }
}

#[test]
fn what_every_thread_adds_is_summed_up() {
    let text = "shared x = 5; thread t(i in 0..10) { atomic { x = x + i; } }";
    assert_eq!(ranges(text), [Some((5, 50))]);
}

#[test]
fn a_read_and_a_write_need_not_be_one_step() {
    let text = "shared x = 0; thread t(i in 0..3) { let v = x; skip; x = v - 2; }";
    assert_eq!(ranges(text), [Some((-6, 0))]);
}

#[test]
fn only_deltas_of_one_sign_count_on_either_side() {
    let text = "shared x = 0; thread a { x = x + 7; } thread b { x = x - 3; } thread c { x = 4; }";
    assert_eq!(ranges(text), [Some((-3, 11))]);
}

#[test]
fn other_ways_through_a_thread_are_joined() {
    let text = "shared x = 0; shared y = 0;
        thread t(i in 0..2) { if y == 0 { x = x + 3; } else { x = x - 1; } y = 1; }";
    assert_eq!(ranges(text), [Some((-2, 6)), Some((0, 1))]);
}

#[test]
fn loops_count_their_rounds() {
    let text = "shared x = 0; thread t { for i in 0..5 { for j in 0..4 { x = x + 1; } } }";
    assert_eq!(ranges(text), [Some((0, 20))]);
}

/// The inner loop is the same in every round of the outer one, which has no end in sight: what is added behind the inner
/// loop counts without end too.
#[test]
fn a_loop_without_an_end_in_sight_adds_without_bound() {
    let most = i64::from(i32::MAX);
    let text = "shared x = 0; shared y = 0; shared go = true;
        thread t { while go { for j in 0..1 { y = y - 1; } x = x + 1; } }
        thread u { go = false; }";
    let least = i64::from(i32::MIN);
    assert_eq!(ranges(text), [Some((0, most)), Some((least, 0)), Some((0, 1))]);
}

#[test]
fn what_feeds_itself_through_another_variable_is_unknown() {
    let text = "shared x = 0; shared y = 0; thread a { x = y + 1; } thread b { y = x + 1; }";
    assert_eq!(ranges(text), [None, None]);
}

#[test]
fn tasks_that_spawn_tasks_are_followed() {
    let text = "const N = 50; shared x = 0;
        atomic proc go(i: int) { if i < N { spawn add(i); spawn go(i + 1); } }
        atomic proc add(v: int) { x = x + v; }
        thread main { spawn go(0); }";
    assert_eq!(ranges(text), [Some((0, 49 * 50 / 2))]);
    let program = compile("test.sel", text, &[]).expect("it compiles").program;
    let named = |name: &str| {
        let is = |atomic: &selvedge_lang::ir::Atomic| atomic.name.as_deref() == Some(name);
        AtomicId::new(program.atomics.iter().position(is).expect("there is one"))
    };
    let values = Values::of(&program, &Caps::default());
    assert_eq!(values.of_local(named("add"), Slot(0)), Some(Range { low: 0, high: 49 }));
    assert_eq!(values.of_local(named("go"), Slot(0)), Some(Range { low: 0, high: 50 }));
    // With less work allowed nothing is said, instead of something wrong.
    assert_eq!(ranges_with(text, &Caps::tiny()), [None]);
    assert_eq!(Values::of(&program, &Caps::tiny()).of_local(named("add"), Slot(0)), None);
}

#[test]
fn tasks_without_end_are_unknown() {
    let text =
        "shared x = 0; atomic proc go() { x = x + 1; spawn go(); } thread main { spawn go(); }";
    assert_eq!(ranges(text), [None]);
}

#[test]
fn read_modify_writes_add_too() {
    let text = "shared x = 0; shared y = 3;
        thread t(i in 0..4) { let a = fetch_add(x, 2); let b = exchange(y, a); }";
    assert_eq!(ranges(text), [Some((0, 8)), Some((0, 8))]);
}
