//! What a step promises to touch where less has happened of what it conflicts with: [`Effect::elsewhere`].
//!
//! In random executions of random programs an event is left out, with all that happens after it, and the step of a later event is
//! looked at there.

use selvedge_core::{
    Access, Effect, Elsewhere, Execution, Mode, Position, Status, System, commute, dependent,
};
use selvedge_lang::Interpreter;
use selvedge_testkit::{Profile, Random, Subject, generate, seeds, share_of};

#[test]
fn everything() {
    campaign(&Profile::everything(), 1_000);
}

#[test]
fn waiting() {
    campaign(&Profile::waiting(), 1_000);
}

fn campaign(profile: &Profile, programs: u64) {
    let mut looked_at = 0;
    for seed in seeds(programs) {
        let text = generate(profile, seed).to_string();
        let subject = Subject::new("random.sel", &text, &[]).expect("it compiles");
        let mut system = Interpreter::new(subject.program().clone());
        for round in 0..4 {
            let execution = random_execution(&mut system, &mut Random::new(seed ^ (round << 40)));
            looked_at += check(&mut system, &execution)
                .unwrap_or_else(|error| panic!("{error} (seed {seed})\n\n{text}"));
        }
    }
    assert!(looked_at > share_of(programs), "only {looked_at} steps were looked at");
}

fn random_execution(system: &mut Interpreter, random: &mut Random) -> Execution {
    system.restart();
    let (mut execution, mut effect) = (Execution::new(), Effect::default());
    while execution.len() < 200
        && let Some(step) = random.step(system)
    {
        system.step(step, &mut effect);
        execution.push(step, &effect);
    }
    execution
}

/// Returns how many steps were looked at elsewhere.
fn check(system: &mut Interpreter, execution: &Execution) -> Result<u64, String> {
    let mut looked_at = 0;
    for later in execution.positions() {
        let (event, touched) = (execution.event(later), execution.accesses(later));
        if event.elsewhere == Elsewhere::Anything {
            continue;
        }
        let others = (0..later.index()).map(Position::new).filter(|&e| {
            execution.event(e).thread() != event.thread()
                && dependent(execution.accesses(e), touched)
        });
        for e in others {
            let Some(now) = without(system, execution, e, later) else { continue };
            looked_at += 1;
            let is_covered = |access: &&Access| match event.elsewhere {
                Elsewhere::AtMostThis => covers(touched, **access),
                // Which message, and whether it ends the thread, is not said.
                _ => !matches!(access.mode, Mode::Read | Mode::Write | Mode::Update),
            };
            if let Some(more) = now.footprint.accesses().iter().find(|access| !is_covered(access)) {
                return Err(format!(
                    "{later:?} touches {touched:?}, and without {e:?} also {more:?}: {:?}",
                    now.footprint
                ));
            }
        }
    }
    Ok(looked_at)
}

fn covers(touched: &[Access], access: Access) -> bool {
    let conflicts_with_as_much =
        |own: Mode| own == access.mode || !commute(own, own) || commute(own, access.mode);
    access.mode.is_cause()
        || touched.iter().any(|own| own.object == access.object && conflicts_with_as_much(own.mode))
}

/// Returns what the step of `later` does without `e` and what happens after that, if it can run.
fn without(
    system: &mut Interpreter,
    execution: &Execution,
    e: Position,
    later: Position,
) -> Option<Effect> {
    let thread = execution.event(later).thread();
    let mut effect = Effect::default();
    system.restart();
    for x in (0..later.index()).map(Position::new) {
        if x == e || execution.happens_before(e, x) {
            // Then its own thread has not come to this step.
            if execution.event(x).thread() == thread {
                return None;
            }
            continue;
        }
        system.step(execution.event(x).step(), &mut effect);
    }
    if thread.index() >= system.thread_count() || system.status(thread) != Status::Enabled {
        return None;
    }
    system.pending(execution.event(later).step(), &mut effect);
    Some(effect)
}
