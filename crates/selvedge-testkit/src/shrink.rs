//! Makes a failing program as small as possible.

use std::cmp::Ordering;

use crate::sketch::{Guard, Index, Mutex, Op, Place, Sketch, Test, Value, for_each_op_mut};

/// The smallest program found from `sketch` on for which `fails` is still true, by taking away
/// threads and operations, putting simpler ones in their place, and making objects one.
pub fn shrink(sketch: Sketch, fails: &mut dyn FnMut(&Sketch) -> bool) -> Sketch {
    let mut best = sketch;
    'smaller: loop {
        for candidate in candidates(&best) {
            if fails(&candidate) {
                best = candidate;
                continue 'smaller;
            }
        }
        return best;
    }
}

impl Sketch {
    /// Takes thread `number` away. Messages to it are not sent, no thread waits for its end; later threads move up.
    pub fn remove_thread(&mut self, number: usize) {
        self.threads.remove(number);
        for body in self.bodies_mut() {
            for_each_op_mut(body, &mut |op| match op {
                Op::Send(to, ..) | Op::JoinThread(to) | Op::Monitor(to, ..) => {
                    match usize::from(*to).cmp(&number) {
                        Ordering::Less => {}
                        Ordering::Equal => *op = Op::Yield,
                        Ordering::Greater => *to -= 1,
                    }
                }
                _ => {}
            });
            remove_yields_in_atomic(body);
        }
    }
}

/// `yield` is not allowed in an atomic block.
fn remove_yields_in_atomic(ops: &mut [Op]) {
    for_each_op_mut(ops, &mut |op| {
        if let Op::Atomic(body) = op {
            remove_yields(body);
        }
    });
}

fn remove_yields(ops: &mut Vec<Op>) {
    ops.retain(|op| *op != Op::Yield);
    for op in ops {
        for body in op.bodies_mut() {
            remove_yields(body);
        }
    }
}

/// All programs that are one change smaller, those with the greatest changes first. Every change
/// makes the program smaller in an order without infinite descent, so shrinking ends.
fn candidates(sketch: &Sketch) -> Vec<Sketch> {
    let mut all = Vec::new();
    for number in 0..sketch.threads.len() {
        let mut smaller = sketch.clone();
        smaller.remove_thread(number);
        all.push(smaller);
    }
    if sketch.unused > 0 {
        all.push(Sketch { unused: 0, ..sketch.clone() });
    }
    if sketch.elements > 0 {
        all.push(Sketch { elements: 0, ..sketch.clone() });
    }
    if sketch.always.is_some() {
        all.push(Sketch { always: None, ..sketch.clone() });
    }
    if sketch.finally.is_some() {
        all.push(Sketch { finally: None, ..sketch.clone() });
    }
    for (number, body) in sketch.bodies().enumerate() {
        for variant in variants(body) {
            let mut smaller = sketch.clone();
            let body = smaller.bodies_mut().nth(number);
            *body.expect("internal error: the copy has the same bodies") = variant;
            all.push(smaller);
        }
    }
    for number in 0..sketch.threads.len() {
        if sketch.threads[number].daemon {
            let mut smaller = sketch.clone();
            smaller.threads[number].daemon = false;
            all.push(smaller);
        }
    }
    if sketch.parties > 1 {
        all.push(Sketch { parties: sketch.parties - 1, ..sketch.clone() });
    }
    all.extend((1..4).flat_map(|n| [merge_scalars(sketch, n), merge_mutexes(sketch, n)]).flatten());
    all
}

/// `ops` with one change.
fn variants(ops: &[Op]) -> Vec<Vec<Op>> {
    let mut all = Vec::new();
    for (index, op) in ops.iter().enumerate() {
        let with = |instead: &[Op]| {
            let mut changed = ops.to_vec();
            changed.splice(index..=index, instead.iter().cloned());
            changed
        };
        all.push(with(&[]));
        all.extend(op.bodies().into_iter().filter(|body| !body.is_empty()).map(|body| with(body)));
        all.extend(simpler(op).iter().map(|simple| with(std::slice::from_ref(simple))));
        for (inner, body) in op.bodies().into_iter().enumerate() {
            for variant in variants(body) {
                let mut changed = op.clone();
                *changed.bodies_mut()[inner] = variant;
                all.push(with(&[changed]));
            }
        }
    }
    all
}

/// Simpler operations that may show the same.
fn simpler(op: &Op) -> Vec<Op> {
    let mut all = Vec::new();
    match op {
        Op::AddTo(place) => all.push(Op::Read(*place)),
        Op::Increment(place) => {
            all.extend([Op::Read(*place), Op::Write(*place, Value::Fixed(1))]);
        }
        Op::FetchAdd(place, _) => all.push(Op::Write(*place, Value::Fixed(1))),
        Op::Exchange(place, value) => all.push(Op::Write(*place, *value)),
        Op::CompareExchange(place, ..) => {
            all.extend([Op::Read(*place), Op::Write(*place, Value::Fixed(1))]);
        }
        Op::TestAndSet(body) => {
            all.push(Op::CompareExchange(Place::Scalar(0), 0, 1, body.clone()));
        }
        Op::CallFunction => all.push(Op::Read(Place::Scalar(0))),
        Op::CallProcedure { value, .. } => all.push(Op::Write(Place::Scalar(0), *value)),
        Op::If(test, then, otherwise) if !otherwise.is_empty() => {
            all.push(Op::If(test.clone(), then.clone(), Vec::new()));
        }
        Op::Repeat(times, test, body) => {
            if *times > 1 {
                all.push(Op::Repeat(times - 1, test.clone(), body.clone()));
            }
            if test.is_some() {
                all.push(Op::Repeat(*times, None, body.clone()));
            }
        }
        Op::TryLocked(mutex, body) => all.push(Op::Locked(*mutex, body.clone())),
        Op::Shared(_, body) => all.push(Op::Locked(Mutex::Single(0), body.clone())),
        Op::TryShared(share, body) => all.push(Op::Shared(*share, body.clone())),
        Op::Wait(Some(_), body) => all.push(Op::Wait(None, body.clone())),
        Op::Broadcast => all.push(Op::Signal),
        Op::AwaitCalls(value) => all.push(Op::AwaitEach(*value)),
        Op::Lookup(key) => all.push(Op::Get(*key)),
        Op::Receive(alternatives, after) => {
            if alternatives.len() > 1 {
                all.extend(
                    alternatives.iter().map(|one| Op::Receive(vec![one.clone()], after.clone())),
                );
            }
            if after.is_some() {
                all.push(Op::Receive(alternatives.clone(), None));
            }
            for index in 0..alternatives.len() {
                let mut open = alternatives.clone();
                (open[index].tag, open[index].guard) = (None, Guard::None);
                if open != *alternatives {
                    all.push(Op::Receive(open, after.clone()));
                }
            }
        }
        Op::Spawn { task, value, mail, body, join } => {
            for (mail, join) in [(false, *join), (*mail, false)] {
                let simple =
                    Op::Spawn { task: *task, value: *value, mail, body: body.clone(), join };
                if simple != *op {
                    all.push(simple);
                }
            }
        }
        Op::Choose(n) if *n > 2 => all.push(Op::Choose(n - 1)),
        Op::PopFront { checked: true } => all.push(Op::PopFront { checked: false }),
        Op::Second(inner) => {
            all.push((**inner).clone());
            all.extend(simpler(inner).into_iter().filter(Op::has_second).map(Op::second));
        }
        Op::Else(inner, otherwise) => {
            all.push((**inner).clone());
            let simple = simpler(inner).into_iter().filter(Op::tries);
            all.extend(simple.map(|it| Op::Else(Box::new(it), otherwise.clone())));
        }
        Op::SpawnChain(depth) if *depth > 0 => {
            all.extend([Op::SpawnChain(depth / 2), Op::SpawnChain(depth - 1)]);
        }
        _ => {}
    }
    all.extend(with_simpler_parts(op));
    all
}

/// The same operation with a simpler value, test, variable or mutex.
fn with_simpler_parts(op: &Op) -> Vec<Op> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut Op)| {
        let mut changed = op.clone();
        change(&mut changed);
        if changed != *op {
            all.push(changed);
        }
    };
    push(&|op| {
        if let Some(value) = value_mut(op) {
            *value = Value::Fixed(1);
        }
    });
    push(&|op| {
        if let Some(place) = place_mut(op) {
            *place = match *place {
                Place::Scalar(number) => Place::Scalar(number),
                Place::Grid(_, index) => Place::Element(index),
                Place::Element(Index::Fixed(_)) => Place::Scalar(0),
                Place::Element(_) => Place::Element(Index::Fixed(0)),
            };
        }
    });
    push(&|op| {
        if let Some(mutex) = mutex_mut(op)
            && *mutex == Mutex::Computed
        {
            *mutex = Mutex::Single(0);
        }
    });
    for keep_first in [true, false] {
        push(&|op| {
            if let Some(test) = test_mut(op)
                && let Test::Both(a, b) | Test::Either(a, b) = test
            {
                *test = (if keep_first { &**a } else { &**b }).clone();
            }
        });
    }
    all
}

fn value_mut(op: &mut Op) -> Option<&mut Value> {
    match op {
        Op::Write(_, value)
        | Op::Exchange(_, value)
        | Op::CallProcedure { value, .. }
        | Op::Send(_, _, value)
        | Op::Monitor(_, _, value)
        | Op::SendTo(_, value)
        | Op::Spawn { value, .. }
        | Op::Push(value)
        | Op::Insert(_, value) => Some(value),
        Op::Second(inner) => value_mut(inner),
        _ => None,
    }
}

fn place_mut(op: &mut Op) -> Option<&mut Place> {
    match op {
        Op::Read(place)
        | Op::AddTo(place)
        | Op::Write(place, _)
        | Op::Increment(place)
        | Op::FetchAdd(place, _)
        | Op::Exchange(place, _)
        | Op::CompareExchange(place, ..) => Some(place),
        _ => None,
    }
}

fn mutex_mut(op: &mut Op) -> Option<&mut Mutex> {
    match op {
        Op::Locked(mutex, _)
        | Op::LockForGood(mutex)
        | Op::Unlock(mutex)
        | Op::TryLocked(mutex, _) => Some(mutex),
        _ => None,
    }
}

fn test_mut(op: &mut Op) -> Option<&mut Test> {
    match op {
        Op::If(test, ..)
        | Op::Repeat(_, Some(test), _)
        | Op::ReturnIf(test)
        | Op::Wait(Some(test), _)
        | Op::Await(test)
        | Op::Scan(test)
        | Op::Assume(test)
        | Op::Assert(test) => Some(test),
        Op::Second(inner) => test_mut(inner),
        _ => None,
    }
}

/// `x0` in place of variable `number`, if that is used.
fn merge_scalars(sketch: &Sketch, number: u8) -> Option<Sketch> {
    let merge = |place: &mut Place| {
        if *place == Place::Scalar(number) {
            *place = Place::Scalar(0);
        }
    };
    let mut merged = sketch.clone();
    for body in merged.bodies_mut() {
        for_each_op_mut(body, &mut |op| {
            if let Some(place) = place_mut(op) {
                merge(place);
            }
            if let Some(Value::Of(place)) = value_mut(op) {
                merge(place);
            }
            if let Some(test) = test_mut(op) {
                for_each_place(test, &merge);
            }
        });
    }
    if let Some(test) = &mut merged.always {
        for_each_place(test, &merge);
    }
    if let Some(test) = &mut merged.finally {
        for_each_place(test, &merge);
    }
    (merged != *sketch).then_some(merged)
}

fn for_each_place(test: &mut Test, change: &dyn Fn(&mut Place)) {
    match test {
        Test::Register(..) | Test::Length(..) | Test::Entry(..) => {}
        Test::Variable(place, ..) => change(place),
        Test::Sum(a, b, ..) => {
            change(a);
            change(b);
        }
        Test::Both(a, b) | Test::Either(a, b) => {
            for_each_place(a, change);
            for_each_place(b, change);
        }
    }
}

/// `m0` in place of mutex `number`, if that is used.
fn merge_mutexes(sketch: &Sketch, number: u8) -> Option<Sketch> {
    let mut merged = sketch.clone();
    for body in merged.bodies_mut() {
        for_each_op_mut(body, &mut |op| {
            if let Some(mutex) = mutex_mut(op)
                && *mutex == Mutex::Single(number)
            {
                *mutex = Mutex::Single(0);
            }
        });
    }
    (merged != *sketch).then_some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::profile::Profile;
    use crate::sketch::for_each_op;

    #[test]
    fn what_is_not_needed_goes() {
        // "Fails" if there is a write to x1 in a thread and a compare-exchange somewhere.
        let mut fails = |sketch: &Sketch| {
            let (mut write, mut exchange) = (false, false);
            for thread in &sketch.threads {
                for_each_op(&thread.body, &mut |op| {
                    write |= matches!(op, Op::Write(Place::Scalar(1), _));
                    exchange |= matches!(op, Op::CompareExchange(..));
                });
            }
            write && exchange
        };
        let failing: Vec<Sketch> = (0..2_000)
            .map(|seed| generate(&Profile::memory(), seed))
            .filter(|sketch| fails(sketch))
            .take(20)
            .collect();
        assert_eq!(failing.len(), 20);
        for sketch in failing {
            let small = shrink(sketch, &mut fails);
            let ops: usize = small.bodies().map(Vec::len).sum();
            assert!(ops <= 2 && small.threads.len() <= 2, "not small:\n{small}");
        }
    }
}
