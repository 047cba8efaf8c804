//! The smallest litmus test that still fails.

use selvedge_core::Order;

use crate::litmus::{Instruction, LitmusProgram};

/// Makes a program smaller as long as `fails` holds: takes threads and instructions out, and makes orderings
/// relaxed.
pub(super) fn smallest(
    program: &LitmusProgram,
    fails: &dyn Fn(&LitmusProgram) -> bool,
) -> LitmusProgram {
    let mut smallest = program.clone();
    loop {
        let next = smaller(&smallest).find(|smaller| fails(smaller));
        match next {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

fn smaller(program: &LitmusProgram) -> impl Iterator<Item = LitmusProgram> {
    let threads = program.threads.len();
    // Threads keep their numbers, which spawns and joins use: one is emptied, and the last one is taken out.
    let emptied =
        (0..threads).filter(|&thread| !program.threads[thread].is_empty()).map(|thread| {
            let mut smaller = program.clone();
            smaller.threads[thread].clear();
            smaller
        });
    let mentions = |one: &Instruction| matches!(*one, Instruction::Spawn(other) | Instruction::Join(other) if other + 1 == threads);
    let is_idle = program.threads.last().is_some_and(Vec::is_empty)
        && !program.threads.iter().flatten().any(mentions);
    let without_last = is_idle.then(|| {
        let mut smaller = program.clone();
        smaller.threads.pop();
        smaller
    });
    let places = move || {
        let codes = program.threads.iter().enumerate();
        codes.flat_map(|(thread, code)| (0..code.len()).map(move |place| (thread, place)))
    };
    let shorter = places().map(|(thread, place)| {
        let mut smaller = program.clone();
        smaller.threads[thread].remove(place);
        // What skips over it skips less.
        for (earlier, one) in smaller.threads[thread][..place].iter_mut().enumerate() {
            if let Instruction::SkipUnless(_, count) = one
                && earlier + *count >= place
            {
                *count -= 1;
            }
        }
        smaller
    });
    // A lock goes only together with its unlock.
    let pairs = places().flat_map(move |(thread, first)| {
        let code = &program.threads[thread];
        let mutex = code[first].mutex();
        let same = move |place: &usize| mutex.is_some() && code[*place].mutex() == mutex;
        (first + 1..code.len()).filter(same).map(move |second| {
            let mut smaller = program.clone();
            smaller.threads[thread].remove(second);
            smaller.threads[thread].remove(first);
            smaller
        })
    });
    let relaxed = places().filter_map(|(thread, place)| {
        let mut smaller = program.clone();
        let is_changed = relax(&mut smaller.threads[thread][place]);
        is_changed.then_some(smaller)
    });
    let plain = (!program.initial.is_empty()).then(|| {
        let mut smaller = program.clone();
        smaller.initial.clear();
        smaller
    });
    emptied.chain(without_last).chain(shorter).chain(pairs).chain(relaxed).chain(plain)
}

/// Makes an access relaxed. Returns whether it was not.
fn relax(instruction: &mut Instruction) -> bool {
    let order = match instruction {
        Instruction::Load(_, _, order)
        | Instruction::Store(_, _, order)
        | Instruction::Update(_, _, _, order)
        | Instruction::Await(_, _, _, order)
        | Instruction::AwaitUpdate(_, _, _, _, order)
        | Instruction::Compare { success: order, .. } => order,
        _ => return false,
    };
    std::mem::replace(order, Order::Relaxed) != Order::Relaxed
}
