//! `constrained` and `context-sensitive` on random programs of atomic blocks: the final states, failing steps and
//! deadlocks are those that a search of the state graph finds.
//!
//! `SELVEDGE_FUZZ_SECONDS=100 cargo test --release -p selvedge-testkit --test it constrained` continues with new
//! programs for that long, for each kind of program; with `SELVEDGE_FUZZ_SEED=1000000` it begins with others.

use std::fmt::Write;

use selvedge_core::{System, ViolationKind};
use selvedge_explore::{Algorithm, Limits, Options, Silent, confirm};
use selvedge_lang::{Interpreter, compile, render};
use selvedge_testkit::{Exact, Outcomes, Random, explore, is_campaign, search_states, seeds};

/// Larger programs are left out.
const MOST_STATES: usize = 1_000;

/// Programs with more traces are left out.
const MOST_TRACES: u64 = 2_000;

/// What the blocks of a random program may do.
#[derive(Clone, Copy, Default)]
struct Kind {
    /// Elements of an array, with computed indices.
    arrays: bool,
    /// Tasks that are spawned.
    tasks: bool,
    /// Assertions that may fail.
    assertions: bool,
    /// Blocks that wait, and locks around blocks.
    waiting: bool,
    /// Steps that are not blocks; local variables; choices.
    plain: bool,
    /// Variables that only two threads change.
    pairs: bool,
    /// Tasks that are declared to commute: some always touch the same, some do not.
    declared: bool,
}

/// What programs with declarations have in common.
const DECLARED: &str = "
atomic proc rise() { x = min(x, 5) + 1; }
atomic proc add(v: int) { y = (y + v) % 7; }
atomic proc top(v: int) { z = max(z, v); }
atomic proc both(v: int) { x = min(x, 5) + 1; z = max(z, v); }
atomic proc perhaps(v: int) { if w > 0 { y = (y + v) % 7; } }
atomic proc enough(v: int) { if z < v { z = v; } }
independent(rise, rise);
independent(rise, both(v));
independent(both(v), both(u));
independent(both(v), top(u));
independent(both(v), enough(u));
independent(top(v), top(u));
independent(top(v), enough(u));
independent(enough(v), enough(u));
independent(add(v), add(u)) if v >= 0 && u >= 0 && y >= 0;
independent(perhaps(v), perhaps(u)) if y >= 0;
independent(perhaps(v), add(u)) if w <= 0 || y >= 0;
";
const CALLS: [&str; 6] =
    ["rise(); ", "add(1); ", "add(2); ", "top(1); ", "both(1); ", "enough(1); "];

#[test]
fn blocks() {
    campaign(Kind::default(), 2_500);
}

#[test]
fn arrays() {
    campaign(Kind { arrays: true, ..Kind::default() }, 1_000);
}

#[test]
fn tasks() {
    campaign(Kind { tasks: true, ..Kind::default() }, 500);
}

#[test]
fn assertions() {
    campaign(Kind { assertions: true, ..Kind::default() }, 1_000);
}

#[test]
fn waiting() {
    campaign(Kind { waiting: true, ..Kind::default() }, 1_300);
}

#[test]
fn everything() {
    let kind = Kind {
        arrays: true,
        tasks: true,
        assertions: true,
        waiting: true,
        plain: true,
        ..Kind::default()
    };
    campaign(kind, 700);
}

#[test]
fn pairs() {
    campaign(Kind { pairs: true, ..Kind::default() }, 2_000);
}

#[test]
fn everything_in_pairs() {
    let kind = Kind {
        arrays: false,
        tasks: true,
        assertions: true,
        waiting: true,
        plain: true,
        pairs: true,
        declared: false,
    };
    campaign(kind, 700);
}

#[test]
fn declared() {
    campaign(Kind { declared: true, ..Kind::default() }, 1_500);
}

#[test]
fn everything_declared() {
    let kind =
        Kind { declared: true, assertions: true, waiting: true, plain: true, ..Kind::default() };
    campaign(kind, 500);
}

/// Example 4 of the paper: every pair of blocks commutes where it is met, and yet another order ends elsewhere.
#[test]
fn conditions_that_hold_now_may_not_hold_later() {
    let text = include_str!("../../../programs/constrained/fig1.sel");
    for (z, x) in (-3..=1).flat_map(|z| (-3..=1).map(move |x| (z, x))) {
        let constants = [("Z".to_owned(), z), ("X".to_owned(), x)];
        let compiled = compile("fig1.sel", text, &constants).expect("it compiles");
        let make = || Interpreter::new(compiled.program.clone());
        let expected = search_states(&mut make(), MOST_STATES).expect("it is small");
        let (_, found, _) = run("constrained", Algorithm::Constrained, &make);
        assert_eq!(found, expected, "z = {z}, x = {x}");
        if (z, x) == (-1, -2) {
            assert_eq!(found.states.len(), 2);
        }
    }
}

/// What the algorithms as they are published miss.
#[test]
fn races_of_what_is_pruned_are_not_lost() {
    let text = include_str!("../../../programs/regressions/lost-races.sel");
    assert!(check(text, 0, &mut [0; 4]));
}

/// The same for each of the three ways to do with less, of which each loses a state of its program.
#[test]
fn races_are_not_lost_by_edges_that_are_left_out() {
    let text = "shared x = 1; shared y = 1; shared z = -1; shared a = 0; shared b = 0;
        thread t0 { atomic { x = a; } }
        thread t1 { atomic { if z >= 0 { a = -1; } } atomic { x = 0; } }
        thread t2 { atomic { if y >= 1 { y = x; } if y == 1 { b = y; } } atomic { z = z + 1; } }";
    assert!(check(text, 0, &mut [0; 4]));
}

#[test]
fn races_are_not_lost_by_sequences_that_sleep() {
    let text = "shared x = -1; shared y = 0; shared z = -1;
        thread t0 { atomic { x = y + 1; } atomic { if x == 0 { y = y + 1; } y = y + 1; } }
        thread t1 { atomic { if z == 0 { y = x; } } }
        thread t2 { atomic { z = 0; } atomic { if x < -1 { y = y + 1; } } }";
    assert!(check(text, 0, &mut [0; 4]));
}

#[test]
fn races_are_not_lost_by_sleepers_that_sleep_on() {
    let text = "shared w = 1; shared x = 0; shared y = 1; shared z = 0;
        thread t0 { atomic { w = 2; } atomic { if w < -1 { w = -1; } } atomic { x = w; } }
        thread t1 { atomic { if x >= -1 { y = x + 1; } y = x; } }
        thread t2 { atomic { if y == 0 { z = z + 1; } } }
        thread t3 { atomic { z = z + 1; w = w + 1; } }";
    assert!(check(text, 0, &mut [0; 4]));
}

/// Blocks that act differently in the order that is left out, and what sleeps once an edge was left out: each of these
/// programs was once told wrong.
#[test]
fn orders_that_are_left_out_hide_nothing() {
    let programs = [
        "shared x = 1; shared y = 1; shared z = 1; shared a[2] = 0;
         thread t0 { atomic { if y < 1 { z = a[1]; } } atomic { x = y + 1; } }
         thread t1 { atomic { y += 1; } atomic { a[0] += 1; if x < 1 { x = 3; } } }
         thread t2 { atomic { z = a[abs(z) % 2]; } }
         thread t3 { atomic { a[1] = -1; z += 1; } }",
        "shared x = 1; shared y = 1; shared z = -1; shared a[2] = 0;
         thread t0 { atomic { z += 1; } atomic { a[1] = 1; } }
         thread t1 { atomic { y = a[0]; } }
         thread t2 { atomic { z = a[abs(z) % 2]; if y == 1 { y = a[1]; } } atomic { z = a[0]; } }",
        "shared x = 0; shared y = 1; shared z = 1; shared a[2] = 0;
         thread t0 { atomic { if z >= -1 { y = y; } } atomic { if y < -1 { y = -1; } } atomic { z = -1; } }
         thread t1 { atomic { a[abs(z) % 2] = z + 1; x = z; } }
         thread t2 { atomic { if x >= 0 { x = a[abs(y) % 2]; } } }
         thread t3 { atomic { y = z; } }",
    ];
    for text in programs {
        assert!(check(text, 0, &mut [0; 4]));
    }
}

/// What a step waits for can come from several others: although it commutes with the second where it was let run by
/// the first, it could have run without the first.
#[test]
fn steps_that_wait_are_ordered() {
    let text = "shared x = 0; shared y = -1; shared z = 1;
        thread t0 { atomic { x = x + 1; z = max(z, 1); } atomic { y = y + 2; } }
        thread t1 { atomic { if z < 1 { z = 1; } } atomic { await y >= 0; if y >= 1 { z = x + 1; } } }
        thread t2 { atomic { y = y + 2; } }";
    assert!(check(text, 0, &mut [0; 4]));
}

/// Steps that act differently in the order that is left out: what they touch in one order only neither hides races nor
/// is hidden.
#[test]
fn steps_that_act_differently_hide_nothing() {
    let programs = [
        "shared x = 1; shared y = 0; shared z = -1; mutex m;
         thread t0 { atomic { x = x + 1; } lock m { atomic { if x >= -1 { z = x + 1; } } } }
         thread t1 { lock m { atomic { y = z + 1; } } }
         thread t2 { atomic { if y >= 1 { z = z; } } atomic { x = z + 1; } }",
        "shared x = -1; shared y = 0; shared z = 1;
         atomic proc swap() { let old = x; x = y; y = old; }
         atomic proc add(v: int) { if y == 0 { z = z + v; } }
         atomic proc move(v: int) { if v >= y { y = x; } x = z; }
         thread a { add(-1); move(-1); }
         thread b { swap(); add(1); }
         independent(swap, move(v)) if x <= v && y > v && y == z;",
        "shared x = 1; shared y = -1; shared z = 0;
         atomic proc both(v: int) { x = min(x, 5) + 1; z = max(z, v); }
         atomic proc enough(v: int) { if z < v { z = v; } }
         independent(both(v), enough(u));
         thread t0 { both(1); atomic { assert z == 0; } }
         thread t1 { atomic { await z >= 1; x = x + 1; y = y + 1; if y >= 1 { y = x + 1; } } }
         thread t2 { atomic { y = y + 2; } }
         thread t3 { enough(1); }",
    ];
    for text in programs {
        assert!(check(text, 0, &mut [0; 4]));
    }
}

/// Two tasks that meet make the third one together, whichever comes last.
#[test]
fn tasks_make_a_task_together() {
    let meet = "shared met = false; shared x = 0;
        atomic proc come(v: int) {{ if met {{ spawn go(v); }} else {{ met = true; }} }}
        atomic proc go(v: int) {{ x = {go}; }}
        independent(come(v), come(w)) if v == w;
        thread a {{ come(1); }} thread b {{ come(1); }} thread c {{ atomic {{ x = {c}; }} }}";
    for (go, c) in [("v", "2"), ("x + v", "x + 2"), ("x * 2 + v", "x + 3")] {
        let text = meet.replace("{{", "{").replace("}}", "}");
        let text = text.replace("{go}", go).replace("{c}", c);
        let mut counts = [0; 4];
        assert!(check(&text, 0, &mut counts));
        assert!(counts[2] < counts[0], "{counts:?}: {text}");
    }
}

/// A constraint that is wrong is found where it is used, and is seen again when the steps are replayed.
#[test]
fn wrong_constraints_are_caught() {
    let text = "shared x = 0; shared y = 0;
        thread a { atomic p { x = 1; } }
        thread b { atomic q { x = 2; } }
        thread c { y = 1; }
        independent(p, q) if y >= 0;";
    let compiled = compile("wrong.sel", text, &[]).expect("it compiles");
    let make = || Interpreter::new(compiled.program.clone());
    let options = Options { check_constraints: true, ..Options::default() };
    let report = explore(Algorithm::Constrained, &make, &options, &mut Silent);
    let [(violation, schedule)] = &report.violations[..] else { panic!("{report:?}") };
    assert_eq!(violation.kind, ViolationKind::Constraint);
    assert_eq!(violation.places[0].line, 5);
    let confirmed = confirm(&make, violation, schedule).expect("it is seen again");
    assert!(confirmed.violation.notes.iter().any(|note| note.contains("x = 2")), "{confirmed:?}");
    // Right ones pass.
    let right = text.replace("x = 2", "x = 1");
    let compiled = compile("right.sel", &right, &[]).expect("it compiles");
    let make = || Interpreter::new(compiled.program.clone());
    let report = explore(Algorithm::Constrained, &make, &options, &mut Silent);
    assert!(report.violations.is_empty() && report.counts.complete == 1, "{report:?}");
}

/// `t1` commutes with the first block of `t0`, behind it acts differently and does not commute with the second, and then
/// commutes with the third again. That says nothing of executions in which it runs before the second.
#[test]
fn what_commutes_behind_something_that_does_not() {
    let text = "shared w = 1;
shared x = -1;
shared y = 1;
shared z = 0;
thread t0 {
    atomic { if x < 0 { x = min(w, 5) + 1; } if w == 1 { w = min(w, 5) + 1; } }
    atomic { if w >= -1 { w = min(w, 5) + 1; } }
    atomic { x = x; }
}
thread t1 { atomic { if x >= 1 { x = w; } } }
thread t2 { atomic { if z < 0 { y = -1; } } }
thread t3 { atomic { z = min(z, 5) + 1; if w == 1 { z = min(w, 5) + 1; } } }
";
    assert!(check(text, 0, &mut [0; 4]));
}

#[allow(clippy::print_stderr, reason = "a long campaign tells how far it came")]
fn campaign(kind: Kind, programs: u64) {
    let (mut tried, mut compared, mut counts) = (0, 0, [0_u64; 4]);
    for seed in seeds(programs) {
        let text = program(kind, &mut Random::new(seed));
        compared += u64::from(check(&text, seed, &mut counts));
        tried += 1;
    }
    assert!(compared * 10 > tried * 6, "only {compared} of {tried} programs were compared");
    // Something must have been saved.
    assert!(counts[3] <= counts[0] && counts[1] <= 2 * counts[0], "{counts:?}");
    if is_campaign() {
        eprintln!("{compared} programs; source, context-sensitive, constrained, exact: {counts:?}");
    }
}

/// Compares all explorers on a program; false if it is too large.
fn check(text: &str, seed: u64, counts: &mut [u64; 4]) -> bool {
    let compiled = compile("random.sel", text, &[])
        .unwrap_or_else(|error| panic!("{}\n{text}", render(&error, "random.sel", text, false)));
    let make = || Interpreter::new(compiled.program.clone());
    let Some(expected) = search_states(&mut make(), MOST_STATES) else { return false };
    let few = Limits { executions: Some(MOST_TRACES), ..Limits::default() };
    let options = Options { keep_going: true, limits: few, ..Options::default() };
    if !explore(Algorithm::Source, &make, &options, &mut Silent).inconclusive.is_empty() {
        return false;
    }
    let runs = [
        run("source", Algorithm::Source, &make),
        run("context-sensitive", Algorithm::ContextSensitive, &make),
        run("constrained", Algorithm::Constrained, &make),
        run("constrained, exactly", Algorithm::Constrained, &|| Exact::new(make())),
    ];
    for ((name, found, executions), count) in runs.into_iter().zip(counts) {
        *count += executions;
        for (state, ending) in &expected.states {
            assert!(
                found.states.contains(&(state.clone(), *ending)),
                "seed {seed}: {name} misses the state {state:?} ({ending:?})\n{text}"
            );
        }
        assert_eq!(found.states.len(), expected.states.len(), "seed {seed}: {name}\n{text}");
        assert_eq!(found.violations, expected.violations, "seed {seed}: {name}\n{text}");
    }
    true
}

fn run<S: System>(
    name: &'static str,
    algorithm: Algorithm,
    make: &dyn Fn() -> S,
) -> (&'static str, Outcomes, u64) {
    let options = Options { keep_going: true, check_constraints: true, ..Options::default() };
    let mut outcomes = Outcomes::default();
    let report = explore(algorithm, make, &options, &mut outcomes);
    assert!(report.inconclusive.is_empty(), "{name}: {:?}", report.inconclusive);
    (name, outcomes.with(&report), report.counts.total())
}

/// A random program of two to four threads with one to three blocks each.
fn program(kind: Kind, random: &mut Random) -> String {
    let mut text = String::new();
    for name in ["w", "x", "y", "z"] {
        writeln!(text, "shared {name} = {};", number(random)).expect("a string takes everything");
    }
    let more = "shared a[2] = 0;\nmutex m;\nsemaphore s = 1;\n";
    text += more;
    if kind.declared {
        text += DECLARED;
    }
    if kind.tasks {
        for task in ["task", "other"] {
            let names = ["x", "y", "z", "v"];
            let body = block(Kind { tasks: false, ..kind }, random, &names[..3], &names);
            writeln!(text, "atomic proc {task}(v: int) {{ {body} }}").expect("a string");
        }
    }
    let threads = 2 + random.below(3);
    let mut blocks = 6_usize.saturating_sub(threads);
    for thread in 0..threads {
        let mut body = String::new();
        let more = random.below(3).min(blocks);
        blocks -= more;
        if kind.plain && random.one_in(3) {
            body += "let k = x; ";
        } else {
            body += "let k = 1; ";
        }
        let all = ["w", "x", "y", "z"];
        let (own, mut known) = if kind.pairs {
            let own = vec![all[thread], all[(thread + 1) % threads]];
            (own.clone(), own)
        } else {
            (all[1..].to_vec(), all[1..].to_vec())
        };
        if kind.pairs && random.one_in(4) {
            known.push(all[random.below(4)]);
        }
        for _ in 0..=more {
            body += &statement(kind, random, &own, &known);
        }
        writeln!(text, "thread t{thread} {{ {body}assert k < 100; }}").expect("a string");
    }
    text
}

/// A statement that changes the variables `own`, and reads `known` ones.
fn statement(kind: Kind, random: &mut Random, own: &[&str], known: &[&str]) -> String {
    if kind.declared && !random.one_in(4) {
        return match random.below(8) {
            0 => "perhaps(1); ".to_owned(),
            1 => "atomic { w = 1 - w; } ".to_owned(),
            _ => (*random.pick(&CALLS)).to_owned(),
        };
    }
    if kind.plain && random.one_in(4) {
        return match random.below(4) {
            0 => format!("{} ", assignment(kind, random, own, known)),
            1 => format!("k = {}; ", known[0]),
            2 => format!("{} = k; ", own[1]),
            _ => "k = choose(0..2); ".to_owned(),
        };
    }
    let mut names = known.to_vec();
    if kind.plain {
        names.push("k");
    }
    let body = block(kind, random, own, &names);
    match random.below(8) {
        0 if kind.waiting => format!("lock m {{ atomic {{ {body} }} }} "),
        1 if kind.waiting => format!("atomic {{ await {}; {body} }} ", condition(random, known)),
        2 if kind.waiting => format!("down(s); atomic {{ {body} up(s); }} "),
        _ => format!("atomic {{ {body} }} "),
    }
}

/// One to three guarded assignments.
fn block(kind: Kind, random: &mut Random, own: &[&str], known: &[&str]) -> String {
    let mut text = String::new();
    for _ in 0..[1, 1, 2, 3][random.below(4)] {
        let mut action = assignment(kind, random, own, known);
        if kind.tasks && random.one_in(4) {
            let task = random.pick(&["task", "other"]);
            action = format!("spawn {task}({});", random.pick(known));
        }
        if kind.assertions && random.one_in(6) {
            action = format!("assert {};", condition(random, known));
        }
        if random.one_in(2) {
            action = format!("if {} {{ {action} }}", condition(random, known));
        }
        write!(text, "{action} ").expect("a string takes everything");
    }
    text
}

fn assignment(kind: Kind, random: &mut Random, own: &[&str], known: &[&str]) -> String {
    let target = if kind.arrays && random.one_in(3) {
        element(random)
    } else {
        (*random.pick(own)).to_owned()
    };
    let value = match random.below(5) {
        0 => number(random).to_string(),
        1 => (*random.pick(known)).to_owned(),
        2 => format!("min({target}, 5) + 1"),
        3 if kind.arrays => element(random),
        _ => format!("min({}, 5) + 1", random.pick(known)),
    };
    format!("{target} = {value};")
}

fn element(random: &mut Random) -> String {
    match random.below(3) {
        0 => "a[0]".to_owned(),
        1 => "a[1]".to_owned(),
        _ => format!("a[abs({}) % 2]", random.pick(&["x", "y", "z"])),
    }
}

fn condition(random: &mut Random, names: &[&str]) -> String {
    format!("{} {} {}", random.pick(names), random.pick(&["<", ">=", "=="]), number(random))
}

fn number(random: &mut Random) -> i32 {
    [-1, 0, 1][random.below(3)]
}
