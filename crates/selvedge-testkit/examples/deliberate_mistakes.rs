//! Makes mistakes in a copy of the sources, one at a time, and expects a test to fail for each.
//!
//! `cargo run --release -p selvedge-testkit --example deliberate_mistakes [-- WORD]` tries those whose
//! name contains WORD, or all. A test suite that stays green here would not notice the mistake.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it prints, copies files and runs cargo"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// A mistake: in `file`, `right` becomes `wrong`, and then `test` of the test file `suite` must fail.
struct Mistake {
    name: &'static str,
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
    suite: &'static str,
    test: &'static str,
}

impl Mistake {
    /// Where its file is, and the package of its test.
    fn home(&self) -> (&'static str, &'static str) {
        match self.name.split_once(": ") {
            Some(("library", _)) => ("crates/selvedge/src", "selvedge"),
            Some(("symbolic", _)) => ("crates/selvedge-symbolic/src", "selvedge-symbolic"),
            _ => ("crates/selvedge-explore/src", "selvedge-testkit"),
        }
    }
}

const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "only the last race of an event is reversed",
        file: "races.rs",
        right: "for &e in execution.predecessors(later) {",
        wrong: "for &e in execution.predecessors(later).iter().take(1) {",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "sleep sets are not passed down",
        file: "sleep_set.rs",
        right: "if sleeper.step.thread != step.thread && !sleeper.depends_on(accesses) {",
        wrong: "if false && !sleeper.depends_on(accesses) {",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "sleeping threads are never woken",
        file: "sleep_set.rs",
        right: "&& !sleeper.depends_on(accesses) {",
        wrong: "&& (true || sleeper.depends_on(accesses)) {",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "threads that are blocked at the end do not race",
        file: "optimal.rs",
        right: "self.settle(Later::Pending(thread), maximal);",
        wrong: "let _ = Later::Pending(thread);",
        suite: "small_programs",
        test: "random_programs_with_locks",
    },
    Mistake {
        name: "a step that depends on the sequence is taken for a weak initial",
        file: "sequence.rs",
        right: "if !item.objects.is_disjoint(other.objects) &&",
        wrong: "if false && !item.objects.is_disjoint(other.objects) &&",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "a compare-exchange keeps its old effect when a race is reversed",
        file: "races.rs",
        right: "                    decide_anew(run, e, e2, reversal, found);",
        wrong: "                    let _ = decide_anew::<S>;\n                    \
                as_it_was(&run.execution, e, e2, reversal);\n                    \
                found(&run.execution, reversal);",
        suite: "small_programs",
        test: "random_programs_with_branches_and_read_modify_writes",
    },
    Mistake {
        name: "locks race with the release before them, not with the acquire",
        file: "races.rs",
        right: "                released = true;\n                continue;",
        wrong: "                released = false;",
        suite: "small_programs",
        test: "random_programs_with_locks",
    },
    Mistake {
        name: "every race is settled at once",
        file: "optimal.rs",
        right: "if !self.settle(Later::Event(position), maximal) {",
        wrong: "if !(self.settle(Later::Event(position), maximal) || true) {",
        suite: "small_programs",
        test: "a_settled_race_is_settled_for_all_executions",
    },
    Mistake {
        name: "other events that keep a step waiting are never left out",
        file: "races.rs",
        right: "        if others.is_empty() {",
        wrong: "        if !others.is_empty() || others.is_empty() {",
        suite: "small_programs",
        test: "random_programs_with_awaits",
    },
    Mistake {
        name: "what a step touches only once a race is reversed does not matter",
        file: "races.rs",
        right: "single || now.iter().all(is_covered)",
        wrong: "single || now.iter().all(is_covered) || true",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
    Mistake {
        name: "the classic reduction counts sleeping threads as explored",
        file: "classic.rs",
        right: "&& !asleep.contains(other)",
        wrong: "&& (true || asleep.contains(other))",
        suite: "small_programs",
        test: "classic_with_sleep_sets",
    },
    Mistake {
        name: "what commutes with an event of a race does not change the object",
        file: "races.rs",
        right: "&& !before.iter().any(|&x| may_change(",
        wrong: "&& !before.iter().any(|&x| false && may_change(",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
    Mistake {
        name: "unfolding: what a sleeper keeps is not passed down",
        file: "quasi/sleepers.rs",
        right: "if sleeps_on && (touched",
        wrong: "if false && sleeps_on && (touched",
        suite: "small_programs",
        test: "every_program_of_four_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: events of an alternative may be in conflict",
        file: "quasi/alternatives.rs",
        right: "if !unfolding.are_in_conflict(event, other) {",
        wrong: "if true || !unfolding.are_in_conflict(event, other) {",
        suite: "small_programs",
        test: "every_program_of_four_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: an alternative forgets all but one of the events that sleep",
        file: "quasi/alternatives.rs",
        right: "self.disabled.iter().copied().find(is_open)",
        wrong: "self.disabled.iter().copied().take(1).find(is_open)",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
    Mistake {
        name: "unfolding: a write need not know all reads",
        file: "unfolding/objects.rs",
        right: "self.members(a).iter().all(|event| larger.any(|other| other == event))",
        wrong: "true || self.members(a).iter().all(|event| larger.any(|other| other == event))",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: histories of an object that branch off are compatible if one is longer",
        file: "unfolding/objects.rs",
        right: "c == a || (self.are_alike",
        wrong: "true || c == a || (self.are_alike",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: a write is taken for a look at the object",
        file: "unfolding/touched.rs",
        right: "if !commute(access.mode, Mode::Read) {",
        wrong: "if false && !commute(access.mode, Mode::Read) {",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: pruning forgets what is kept for later",
        file: "quasi.rs",
        right: "let kept = self.kept.iter().flat_map(Kept::iter);",
        wrong: "self.kept.iter_mut().for_each(Kept::clear);\n        let kept = self.kept.iter().flat_map(Kept::iter);",
        suite: "small_programs",
        test: "every_program_of_four_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: blocked threads give no extensions",
        file: "quasi.rs",
        right: "self.reverse(Later::Pending(thread), thread);",
        wrong: "let _ = (Later::Pending(thread), thread);",
        suite: "small_programs",
        test: "random_programs_with_locks",
    },
    Mistake {
        name: "conditions: what holds now is taken to hold for good",
        file: "conditional/independence.rs",
        right: "stable.contains(&true)",
        wrong: "true || stable.contains(&true)",
        suite: "constrained",
        test: "conditions_that_hold_now_may_not_hold_later",
    },
    Mistake {
        name: "conditions: races of what is pruned are lost",
        file: "conditional/lost.rs",
        right: "for e in (0..depth).rev().map(Position::new) {",
        wrong: "for e in (0..0).rev().map(Position::new) {",
        suite: "constrained",
        test: "blocks",
    },
    Mistake {
        name: "conditions: steps that sleep have no races of their own",
        file: "conditional/lost.rs",
        right: "for step in skipped {",
        wrong: "for step in skipped.into_iter().take(0) {",
        suite: "constrained",
        test: "arrays",
    },
    Mistake {
        name: "conditions: a step acts the same in the order that is left out",
        file: "conditional/independence.rs",
        right: "uniform &= self.knows(clock, f) || self.run.execution.happens_before(f, e);",
        wrong: "uniform &= self.knows(clock, f) || f <= e;",
        suite: "constrained",
        test: "arrays",
    },
    Mistake {
        name: "observation: writes from before a branch are not observed instead",
        file: "data_centric/discover.rs",
        right: "for source in sources {",
        wrong: "for source in sources.into_iter().take(0) {",
        suite: "observations",
        test: "reads_and_writes",
    },
    Mistake {
        name: "observation: two read-modify-writes are never swapped",
        file: "data_centric/discover.rs",
        right: "if vertex.source == Some(earlier) && may_write {",
        wrong: "if false && vertex.source == Some(earlier) && may_write {",
        suite: "observations",
        test: "read_modify_writes",
    },
    Mistake {
        name: "observation: steps that wait at the end make nothing possible",
        file: "data_centric.rs",
        right: "        self.discover_at_end();\n        if self.learned",
        wrong: "        if self.learned",
        suite: "observations",
        test: "locks",
    },
    Mistake {
        name: "observation: what was put ahead of a step stays as it is",
        file: "data_centric/discover.rs",
        right: "Role::Own(branch) | Role::Ahead(branch) => branch,",
        wrong: "Role::Own(branch) => branch,\n            Role::Ahead(_) => return,",
        suite: "random_programs",
        test: "waiting",
    },
    Mistake {
        name: "observation: a reversal is known whatever else is ahead",
        file: "data_centric/discover.rs",
        right: ".then(all(kept))\n            .then(all(&rest));",
        wrong: ".then(all(kept));",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
    Mistake {
        name: "observation: a write may come between a write and its read",
        file: "data_centric/realize.rs",
        right: "Some(source) => self.open.push([(other, source), (read, other)]),",
        wrong: "Some(source) => drop((other, source)),",
        suite: "observations",
        test: "reads_and_writes",
    },
    Mistake {
        name: "observation: an observation is forbidden without its past",
        file: "data_centric/discover.rs",
        right: "if !self.branches[branch].is_new(Key::source(Some(source))) {",
        wrong: "let id = self.graph.vertex(write).id;\n        \
                let alone = Print::start(u64::from(id.thread.number())).with(u64::from(id.nth));\n        \
                if !self.branches[branch].is_new(Key::source(Some(alone))) {",
        suite: "observations",
        test: "branches",
    },
    Mistake {
        name: "observation: a task can run before it is spawned",
        file: "data_centric/discover.rs",
        right: "let previous = self.graph.previous(position).or_else(cause);",
        wrong: "let previous = self.graph.previous(position).or_else(|| cause().filter(|_| false));",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
    Mistake {
        name: "observation: an execution that came out wrong is built upon",
        file: "data_centric/replay.rs",
        right: "if let Some(before) = before\n",
        wrong: "if let Some(before) = before.filter(|_| false)\n",
        suite: "observations",
        test: "read_modify_writes",
    },
    Mistake {
        name: "unobserved locks: a critical section is never run to its end",
        file: "data_centric/unobserved/plan.rs",
        right: "None if walk.lets_run_on(thread) && status == Status::Enabled => {",
        wrong: "None if thread.index() > 9 && status == Status::Enabled => {",
        suite: "observations",
        test: "locks_that_are_not_observed",
    },
    Mistake {
        name: "unobserved locks: a read does not wait for writes to come",
        file: "data_centric/unobserved.rs",
        right: "self.run.system.may_write(ThreadId::new(thread), read.object)",
        wrong: "thread > 1 && self.run.system.may_write(ThreadId::new(thread), read.object)",
        suite: "observations",
        test: "locks_that_are_not_observed",
    },
    Mistake {
        name: "unobserved locks: a write may come between a write and its read",
        file: "data_centric/unobserved/plan.rs",
        right: "!(access.mode.writes() && claims.iter().any(is_disturbed))",
        wrong: "!(access.mode.writes() && claims.len() > 9 && claims.iter().any(is_disturbed))",
        suite: "observations",
        test: "locks_that_are_not_observed",
    },
    Mistake {
        name: "symbolic: nobody asks whether a loop goes on",
        file: "check.rs",
        right: "match self.ask(encoded, &[beyond]) {",
        wrong: "match self.ask(encoded, &[beyond, Lit::FALSE]) {",
        suite: "agreement",
        test: "order_agrees_with_the_explorers",
    },
    Mistake {
        name: "symbolic: a write may come between a write and its read",
        file: "encode/order.rs",
        right: "imply(&[lit, other.guard], &[before, after]);",
        wrong: "imply(&[lit, other.guard], &[before, after, Lit::TRUE]);",
        suite: "classes",
        test: "orders_without_branches",
    },
    Mistake {
        name: "symbolic: others may come between the parts of an atomic block",
        file: "unroll/variables.rs",
        right: "            (Some(section), _) => section.event,\n            (None, Runner::Look(_)) => None,\n            (None, Runner::Thread(thread))",
        wrong: "            (Some(section), Runner::Look(_)) => section.event,\n            (None, Runner::Look(_)) => None,\n            (_, Runner::Thread(thread))",
        suite: "agreement",
        test: "order_agrees_with_the_explorers",
    },
    Mistake {
        name: "symbolic: sums wrap around",
        file: "unroll/arithmetic.rs",
        right: "BinaryOp::Add => circuit.add(&a, &b),",
        wrong: "BinaryOp::Add => (circuit.add(&a, &b).0, Lit::FALSE),",
        suite: "values",
        test: "operators_overflow_where_the_language_says",
    },
    Mistake {
        name: "symbolic: a write that is not always made hides the old value",
        file: "unroll/ranges.rs",
        right: "if write.sure { range } else { kept.join(range) }",
        wrong: "if write.sure || kept.low == 0 { range } else { kept.join(range) }",
        suite: "values",
        test: "a_write_that_may_not_be_made_leaves_the_old_value",
    },
    Mistake {
        name: "symbolic: GenMAT forgets that the second thread can go on alone",
        file: "encode/transactions.rs",
        right: "vec![(l1 + 1, l2 + 1), (l1 + 1, f2), (f1, l2 + 1)]",
        wrong: "vec![(l1 + 1, l2 + 1), (l1 + 1, f2)]",
        suite: "classes",
        test: "tokens_without_branches",
    },
    Mistake {
        name: "symbolic: a lock that was given up still keeps others away",
        file: "encode/locksets.rs",
        right: "None => held.retain(|lock, _| !event.writes.contains_key(lock)),",
        wrong: "None => held.retain(|lock, _| !event.reads.contains_key(lock)),",
        suite: "classes",
        test: "tokens_with_locks",
    },
    Mistake {
        name: "symbolic: the least schedule never leaves a thread before its end",
        file: "encode/passes.rs",
        right: "reasons.extend(others);",
        wrong: "let _ = others;",
        suite: "classes",
        test: "tokens_without_branches",
    },
    Mistake {
        name: "symbolic: a thread may run on after it was joined",
        file: "encode/token.rs",
        right: "self.before(step, event, &[condition, last]);",
        wrong: "let _ = (step, event, condition, last);",
        suite: "agreement",
        test: "token_agrees_with_the_explorers",
    },
    Mistake {
        name: "library: a compare-exchange that fails touches nothing",
        file: "rt/operation.rs",
        right: "        effect.footprint.add(self.object, mode);\n        effect.flexibility = Flexibility::Conditional;",
        wrong: "        if mode == Mode::Update {\n            effect.footprint.add(self.object, mode);\n        }\n        \
                effect.flexibility = Flexibility::Conditional;",
        suite: "models",
        test: "atomics",
    },
    Mistake {
        name: "library: a notification wakes nobody",
        file: "sync/condvar.rs",
        right: "for &waiter in &woken {",
        wrong: "for &waiter in woken.iter().take(0) {",
        suite: "models",
        test: "conditions",
    },
    Mistake {
        name: "library: a spin loop never gives up",
        file: "rt/alone.rs",
        right: "decided.unwrap_or(Decided::GivesUp)",
        wrong: "decided.map_or(Decided::Waits, |_| Decided::Waits)",
        suite: "spin",
        test: "a_loop_that_gives_up",
    },
    Mistake {
        name: "library: unpark leaves no token",
        file: "thread/handle.rs",
        right: "engine.rt().threads[number].token = true;",
        wrong: "engine.rt().threads[number].token = false;",
        suite: "models",
        test: "parking",
    },
    Mistake {
        name: "library: statics are not set back",
        file: "rt/system.rs",
        right: "for reset in resets.into_iter().rev() {",
        wrong: "for reset in resets.into_iter().rev().take(0) {",
        suite: "std_surface",
        test: "statics_are_set_back",
    },
    Mistake {
        name: "library: a panic does not poison",
        file: "sync/mutex.rs",
        right: "            lock.poison();",
        wrong: "            let _ = lock;",
        suite: "std_surface",
        test: "a_poisoned_mutex_says_so",
    },
    Mistake {
        name: "library: an Arc that is never dropped is not noticed",
        file: "sync/arc.rs",
        right: "engine.rt().leaks.add(address, \"an Arc\", spot);",
        wrong: "let _ = (address, spot);",
        suite: "errors",
        test: "a_leak",
    },
];

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let copy = std::env::temp_dir().join(format!("selvedge-mistakes-{}", std::process::id()));
    let mut missed = 0;
    copy_tree(&root, &copy);
    for mistake in MISTAKES.iter().filter(|mistake| mistake.name.contains(&word)) {
        let noticed = is_noticed(&copy, mistake);
        missed += usize::from(!noticed);
        println!("{}  {}", if noticed { "noticed" } else { "MISSED " }, mistake.name);
        println!("         by {} in tests/{}.rs", mistake.test, mistake.suite);
    }
    // The copy is in a temporary folder; leaving it behind would only cost space.
    let _ = fs::remove_dir_all(&copy);
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes the mistake, runs the test, and takes the mistake back.
fn is_noticed(copy: &Path, mistake: &Mistake) -> bool {
    let file = copy.join(mistake.home().0).join(mistake.file);
    let text = fs::read_to_string(&file).expect("the file of the mistake can be read");
    assert_eq!(
        text.matches(mistake.right).count(),
        1,
        "the place of the mistake “{}” is not unique in {}",
        mistake.name,
        mistake.file
    );
    fs::write(&file, text.replace(mistake.right, mistake.wrong)).expect("the copy can be written");
    let built = cargo(copy, mistake, &["--no-run"]);
    assert!(built, "the mistake “{}” does not compile", mistake.name);
    let passed = cargo(copy, mistake, &["--", "--exact", mistake.test]);
    fs::write(&file, text).expect("the copy can be written");
    !passed
}

fn cargo(copy: &Path, mistake: &Mistake, more: &[&str]) -> bool {
    Command::new(env!("CARGO"))
        .args(["test", "--quiet", "-p", mistake.home().1, "--test", mistake.suite])
        .args(more)
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        .env_remove("RUSTFLAGS")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("cargo can be run")
        .success()
}

/// Copies what a build needs.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the temporary folder can be made");
    let mut todo: Vec<PathBuf> =
        ["Cargo.toml", "Cargo.lock", "crates", "programs"].map(PathBuf::from).to_vec();
    while let Some(path) = todo.pop() {
        let source = from.join(&path);
        if source.is_dir() {
            fs::create_dir_all(to.join(&path)).expect("the copy can be made");
            for entry in fs::read_dir(&source).expect("the sources can be read") {
                todo.push(path.join(entry.expect("the sources can be read").file_name()));
            }
        } else {
            fs::copy(&source, to.join(&path)).expect("the copy can be made");
        }
    }
}
