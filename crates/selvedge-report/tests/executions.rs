//! Executions as text, compared as a whole.

use std::borrow::Cow;
use std::collections::BTreeMap;

use selvedge_core::{
    Description, Effect, Ending, Fault, Place, Replay, ReplayedStep, Schedule, Status, Step,
    ThreadId, Unfinished, Violation, ViolationKind,
};
use selvedge_report::{Origin, TextOptions, TraceView, execution, violation, width};

const SOURCE: &str = "\
shared x = 0;
thread inc(i in 0..2) {
    let v = x;
    x = v + 1;
}
finally { assert x == 2; }
";

struct Source;

impl Origin for Source {
    fn text(&self, _: &str) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(SOURCE))
    }

    fn replay_command(&self, schedule: &Schedule, _: ViolationKind) -> String {
        format!("selvedge replay lost.sel --schedule {schedule}")
    }
}

fn place(line: u32, column: u32, length: u32) -> Place {
    Place { file: "lost.sel".to_owned(), line, column, length }
}

fn description(text: &str, place: Option<Place>) -> Description {
    Description { text: text.to_owned(), place }
}

/// An execution in which `steps` are (thread, line, text).
fn replay(names: &[&str], steps: &[(usize, u32, &str)]) -> Replay {
    let steps: Vec<ReplayedStep> = steps
        .iter()
        .map(|&(thread, line, text)| ReplayedStep {
            step: Step::of(ThreadId::new(thread)),
            description: description(text, Some(place(line, 1, 1))),
            effect: Effect::default(),
            values: Vec::new(),
            others: Vec::new(),
            missed: Vec::new(),
        })
        .collect();
    Replay {
        schedule: steps.iter().map(|step| step.step).collect::<Vec<_>>().into(),
        steps,
        thread_names: names.iter().map(|&name| name.to_owned()).collect(),
        object_names: BTreeMap::new(),
        unfinished: Vec::new(),
        ending: Some(Ending::Complete),
        end_violation: None,
    }
}

fn unfinished(thread: usize, status: Status, description: Description) -> Unfinished {
    Unfinished { thread: ThreadId::new(thread), status, description, obstacles: Vec::new() }
}

fn options(width: usize) -> TextOptions {
    TextOptions { width, colour: false, full: false, full_hint: "--full shows all".to_owned() }
}

fn view(replay: &Replay) -> TraceView {
    TraceView::new(replay, &replay.violations().collect::<Vec<_>>(), &Source)
}

fn lost_update() -> Replay {
    let steps =
        [(0, 3, "read x → 0"), (1, 3, "read x → 0"), (1, 4, "write x = 1"), (0, 4, "write x = 1")];
    replay(&["inc[0]", "inc[1]"], &steps)
}

#[test]
fn one_column_per_thread() {
    let expected = "\
the execution: 4 steps, 2 context switches

step  line    inc[0]         inc[1]
   1     3    read x → 0
   2     3  │              ▸ read x → 0
   3     4  │                write x = 1
   4     4  ▸ write x = 1
";
    assert_eq!(execution(&view(&lost_update()), &options(80)), expected);
}

#[test]
fn narrow_columns_wrap() {
    let replay = replay(&["a", "b"], &[(0, 1, "read balance[12] → 100"), (1, 2, "lock m")]);
    let expected = "\
the execution: 2 steps, 1 context switch

step  line    a                     b
   1     1    read balance[12]
              → 100
   2     2                        ▸ lock m
";
    assert_eq!(execution(&view(&replay), &options(42)), expected);
}

#[test]
fn many_threads_fold_to_one_line_per_step() {
    let names: Vec<String> = (0..20).map(|i| format!("worker[{i}]")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let steps: Vec<(usize, u32, &str)> = (0..20).map(|i| (i, 7, "lock m")).collect();
    let text = execution(&view(&replay(&names, &steps)), &options(80));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[2..5],
        [
            "step  line  thread",
            "   1     7  worker[0]     lock m",
            "   2     7  worker[1]   ▸ lock m",
        ]
    );
    assert_eq!(lines.len(), 2 + 1 + 20);
}

#[test]
fn long_executions_lose_their_middle() {
    let steps: Vec<(usize, u32, &str)> = (0..1200).map(|_| (0, 3, "read x → 0")).collect();
    let replay = replay(&["spin"], &steps);
    let text = execution(&view(&replay), &options(80));
    assert!(text.contains("\n   ⋮  1,150 steps not shown (--full shows all)\n"), "{text}");
    assert_eq!(text.lines().count(), 3 + 15 + 1 + 35);
    assert!(text.ends_with("1200     3    read x → 0\n"));
    let full = TextOptions { full: true, ..options(80) };
    assert_eq!(execution(&view(&replay), &full).lines().count(), 3 + 1200);
}

#[test]
fn a_fault_stands_below_its_step() {
    let mut replay = lost_update();
    replay.steps[3].effect.fault = Some(Fault::Violation(Violation {
        kind: ViolationKind::Assertion,
        message: "assertion `v > 0` is false (v = 0)".to_owned(),
        places: vec![place(4, 5, 1)],
        notes: Vec::new(),
        thread: Some(ThreadId::new(0)),
    }));
    let text = execution(&view(&replay), &options(80));
    assert!(
        text.ends_with(
            "   4     4  ▸ write x = 1\n            ✗ inc[0]: assertion `v > 0` is false (v = 0)\n"
        ),
        "{text}"
    );
}

#[test]
fn a_deadlock_shows_everyone_who_waits() {
    let mut replay = replay(&["p[0]", "p[1]"], &[(0, 3, "lock a"), (1, 3, "lock b")]);
    let wait = |thread, text: &str| {
        unfinished(thread, Status::Blocked, description(text, Some(place(4, 5, 1))))
    };
    replay.unfinished = vec![wait(0, "lock b: waits for b, held by p[1]"), wait(1, "lock a")];
    replay.ending = Some(Ending::Deadlocked);
    replay.end_violation = Some(Violation {
        kind: ViolationKind::Deadlock,
        message: "deadlock: 2 threads are blocked".to_owned(),
        places: vec![place(4, 5, 1), place(4, 5, 1)],
        notes: vec!["p[0] waits for b, held by p[1]".to_owned()],
        thread: None,
    });
    let view = view(&replay);
    let expected = "\
the execution: 2 steps, 1 context switch

step  line    p[0]             p[1]
   1     3    lock a
   2     3  │                ▸ lock b
 end     4    waits: lock b  │
 end     4  │                  waits: lock a
";
    assert_eq!(execution(&view, &options(80)), expected);
    let expected = " \
 --> lost.sel:4:5
  |
4 |     x = v + 1;
  |     ^ p[0] and p[1] wait here
  = p[0] waits for b, held by p[1]
";
    assert_eq!(violation(&view.violations[0], &options(80)), expected);
}

#[test]
fn a_data_race_has_two_sides() {
    let race = Violation {
        kind: ViolationKind::DataRace,
        message: "data race on `x`".to_owned(),
        places: vec![place(4, 5, 1), place(4, 5, 1)],
        notes: Vec::new(),
        thread: Some(ThreadId::new(1)),
    };
    let view = TraceView::new(&lost_update(), &[&race], &Source);
    let text = violation(&view.violations[0], &options(80));
    assert!(text.contains("^ (1)\n") && text.contains("^ (2)\n"), "{text}");
}

#[test]
fn every_width_is_kept_and_nothing_panics() {
    let mut replay = replay(
        &["écrivain", "読者[0]", "a_very_long_thread_name_that_nobody_would_like_to_read"],
        &[(0, 1, "write 変数 = 12345"), (1, 22, "read 変数 → 12345"), (2, 333, "yield\u{7}")],
    );
    replay.unfinished = vec![unfinished(7, Status::Parked, description("a signal on c", None))];
    for columns in 0..120 {
        let text = execution(&view(&replay), &options(columns));
        assert!(!text.contains('\u{7}'));
        let widest = text.lines().skip(1).map(width).max().unwrap_or(0);
        assert!(widest <= columns.max(60), "{columns}:\n{text}");
    }
}

#[test]
fn colours_do_not_change_the_layout() {
    let coloured = TextOptions { colour: true, ..options(80) };
    let text = execution(&view(&lost_update()), &coloured);
    assert!(text.contains("\u{1b}["));
    let mut plain = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            c if !inside => plain.push(c),
            _ => {}
        }
    }
    let plain: Vec<&str> = plain.lines().map(str::trim_end).collect();
    let expected = execution(&view(&lost_update()), &options(80));
    assert_eq!(plain, expected.lines().collect::<Vec<_>>());
}

#[test]
fn no_steps() {
    assert_eq!(execution(&view(&replay(&[], &[])), &options(80)), "the execution has no steps\n");
}
