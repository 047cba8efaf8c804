//! An execution graph as a list of steps, with what each read saw and what it missed.

use selvedge_core::{
    EventId, GraphDescribe, Label, Location, Status, ThreadId, Violation, ViolationKind,
};
use selvedge_explore::{Act, Followed, Source, Turn};
use selvedge_report::{
    AccessView, EdgeView, Origin, PlaceView, StepView, TraceView, ValueView, ViolationView,
    WaitingView, visible,
};

/// Lays out an execution that was followed. `system` is where it ended.
pub(super) fn trace<S: GraphDescribe>(
    system: &mut S,
    followed: &Followed,
    violations: &[Violation],
    origin: &dyn Origin,
) -> TraceView {
    let Followed { graph, turns, schedule, .. } = followed;
    let threads: Vec<String> =
        graph.threads().map(|thread| visible(&system.thread_name(thread))).collect();
    let number = |event: EventId| {
        turns.iter().position(|turn| turn.event == event || turn.writes == Some(event))
    };
    let mut before = None;
    let mut steps = Vec::with_capacity(turns.len());
    for turn in turns {
        let thread = turn.event.thread;
        let last = before.replace(thread);
        steps.push(StepView {
            thread,
            name: threads[thread.index()].clone(),
            choice: turn.choice,
            text: visible(&turn.description.text),
            place: turn.description.place.clone(),
            switch: last.is_some_and(|last| last != thread),
            stopped: turn.stopped.as_deref().map(visible),
            choices: 1,
            accesses: accesses(system, followed, turn),
            after: edges(system, followed, turn, &number),
            others: Vec::new(),
            missed: turn.missed.iter().filter_map(|&write| Some(number(write)? + 1)).collect(),
        });
    }
    let mut view = TraceView {
        initial: initial(system, followed),
        waiting: waiting(system, followed, &threads, &number),
        threads,
        steps,
        ending: followed.ending,
        violations: Vec::new(),
        schedule: schedule.clone(),
        calls: None,
    };
    view.violations =
        violations.iter().map(|found| violation(&view, found, followed, origin)).collect();
    view
}

fn accesses<S: GraphDescribe>(system: &S, followed: &Followed, turn: &Turn) -> Vec<AccessView> {
    let event = followed.graph.event(turn.event);
    let Some(at) = event.at else { return Vec::new() };
    let value = |id: EventId| system.value_text(at, followed.graph.event(id).value);
    let reads = matches!(event.act, Act::Read { .. });
    let mode = match (event.label, reads, turn.writes) {
        (Label::Lock(_), ..) => "acquire",
        (Label::Unlock(_), ..) => "release",
        (Label::Share(_), ..) => "share-acquire",
        (Label::Unshare(_), ..) => "share-release",
        (_, true, Some(_)) => "update",
        (_, true, None) => "read",
        _ => "write",
    };
    let is_variable = system.is_variable(at);
    let wrote = match event.label {
        Label::Lock(_) => Some(format!("held by {}", system.thread_name(turn.event.thread))),
        Label::Unlock(_) => Some("free".to_owned()),
        _ => turn.writes.filter(|_| is_variable).and_then(value),
    };
    vec![AccessView {
        object: visible(&system.location_name(at)),
        mode,
        read: (reads && is_variable).then(|| value(turn.event)).flatten(),
        wrote: wrote.as_deref().map(visible),
    }]
}

/// Where a read got its value, and what it waited for.
fn edges<S: GraphDescribe>(
    system: &S,
    followed: &Followed,
    turn: &Turn,
    number: &dyn Fn(EventId) -> Option<usize>,
) -> Vec<EdgeView> {
    let event = followed.graph.event(turn.event);
    let other = match event.act {
        Act::Read { from: Source::Write(write), .. }
            if write.thread != turn.event.thread && !matches!(event.label, Label::Unshare(_)) =>
        {
            let why = match event.label {
                Label::Lock(_) | Label::Share(_) => "takes what it released",
                _ => "reads what it wrote",
            };
            event.at.map(|at| (write, system.location_name(at), why))
        }
        Act::Join(child) => {
            let last = followed.graph.events(child).len().checked_sub(1);
            last.map(|nth| {
                let last = EventId { thread: child, nth: nth as u32 };
                (last, system.thread_name(child), "waits for its end")
            })
        }
        _ => None,
    };
    let thread = turn.event.thread;
    let spawns = |other: &&Turn| followed.graph.event(other.event).act == Act::Spawn(thread);
    let spawned = followed.turns.iter().find(spawns).filter(|_| turn.event.nth == 0);
    let spawned = spawned.map(|by| (by.event, system.thread_name(thread), "was spawned by it"));
    let edge = |(write, object, why): (EventId, String, &'static str)| {
        Some(EdgeView { step: number(write)? + 1, object: visible(&object), why })
    };
    spawned.into_iter().chain(other).filter_map(edge).collect()
}

fn initial<S: GraphDescribe>(system: &S, followed: &Followed) -> Vec<ValueView> {
    let variables = followed.graph.locations().filter(|&at| system.is_variable(at));
    let view = |at| ValueView {
        object: visible(&system.location_name(at)),
        value: system.value_text(at, system.initial(at)).unwrap_or_default(),
    };
    variables.map(view).collect()
}

fn waiting<S: GraphDescribe>(
    system: &mut S,
    followed: &Followed,
    threads: &[String],
    number: &dyn Fn(EventId) -> Option<usize>,
) -> Vec<WaitingView> {
    let mut waiting = Vec::new();
    let graph = &followed.graph;
    let written_last = |at: Location| {
        let met = graph.locations().find(|&met| met == at)?;
        graph.writes(met).last().and_then(|&write| number(write))
    };
    let is_spawned = |thread: ThreadId| {
        let spawns = |turn: &Turn| followed.graph.event(turn.event).act == Act::Spawn(thread);
        followed.turns.iter().any(spawns)
    };
    for thread in followed.graph.threads() {
        if !system.is_root(thread) && !is_spawned(thread) {
            continue;
        }
        let label = system.label(thread);
        let at = match label {
            Label::Lock(at) | Label::Share(at) | Label::Await { at, .. } => Some(at),
            _ => None,
        };
        let status = match label {
            Label::Ended | Label::Exited => continue,
            Label::Failed => Status::Failed,
            Label::Assumed => Status::Assumed,
            Label::Lock(_) | Label::Share(_) | Label::Await { .. } | Label::Join(_) => {
                Status::Blocked
            }
            _ => Status::Enabled,
        };
        let description = system.describe_pending(thread);
        waiting.push(WaitingView {
            thread,
            name: threads[thread.index()].clone(),
            status,
            text: visible(&description.text),
            place: description.place,
            object: at.map(|at| visible(&system.location_name(at))),
            holder: at.and_then(written_last).map(|index| index + 1),
        });
    }
    waiting
}

fn violation(
    view: &TraceView,
    found: &Violation,
    followed: &Followed,
    origin: &dyn Origin,
) -> ViolationView {
    let is_race = found.kind == ViolationKind::DataRace;
    let mut places: Vec<PlaceView> = Vec::new();
    for (side, place) in found.places.iter().enumerate() {
        if !is_race && places.iter().any(|known| known.place == *place) {
            continue;
        }
        let line = origin.text(&place.file).and_then(|text| {
            let index = (place.line as usize).checked_sub(1)?;
            text.lines().nth(index).map(str::to_owned)
        });
        let label = if is_race { format!("({})", side + 1) } else { String::new() };
        places.push(PlaceView { place: place.clone(), line, label });
    }
    let race = followed.found.iter().find_map(|(finding, other)| match finding {
        selvedge_explore::Finding::DataRace(a, b) if other.same_as(found) => {
            let number = |event: &EventId| {
                let is_it = |turn: &Turn| turn.event == *event || turn.writes == Some(*event);
                followed.turns.iter().position(is_it).map(|index| index + 1)
            };
            let mut sides = [number(a)?, number(b)?];
            sides.sort_unstable();
            Some(sides)
        }
        _ => None,
    });
    ViolationView {
        kind: found.kind,
        message: visible(&found.message),
        places,
        notes: found.notes.iter().map(|note| visible(note)).collect(),
        thread: found.thread,
        replay: origin.replay_command(&view.schedule, found.kind),
        race,
    }
}
