//! Sequences of steps with what each touches, and their weak initials.

use selvedge_core::{Access, Execution, Footprint, Position, Step, dependent, narrow};

/// A step with what it touches; or several alternatives of a step that touch the same.
#[derive(Clone, Debug)]
pub struct Move {
    /// The first alternative.
    pub step: Step,
    /// The number of the last one.
    last_choice: u32,
    /// How many alternatives the step has, all counted.
    choices: u32,
    /// What each of them accesses.
    pub footprint: Footprint,
    objects: Objects,
}

impl Move {
    /// Makes a move of one alternative, of `choices` that its thread has.
    #[inline]
    pub fn new(step: Step, choices: u32, footprint: Footprint) -> Self {
        let objects = Objects::of(footprint.accesses());
        Self { step, last_choice: step.choice, choices, footprint, objects }
    }

    /// Returns how many alternatives the step has, all counted.
    pub fn choices(&self) -> u32 {
        self.choices
    }

    /// Returns whether there is no other alternative of the step.
    pub fn is_complete(&self) -> bool {
        self.size() >= self.choices
    }

    /// Returns how many alternatives of the step these are.
    fn size(&self) -> u32 {
        self.last_choice - self.step.choice + 1
    }

    /// Returns whether `step` is one of the alternatives.
    #[inline]
    pub fn contains(&self, step: Step) -> bool {
        self.step.thread == step.thread
            && (self.step.choice..=self.last_choice).contains(&step.choice)
    }

    /// Takes in the next alternative, if `step` is that and touches the same.
    pub(crate) fn extend(&mut self, step: Step, accesses: &[Access]) -> bool {
        let next = self.step.thread == step.thread
            && Some(step.choice) == self.last_choice.checked_add(1)
            && self.footprint.accesses() == accesses;
        if next {
            self.last_choice = step.choice;
        }
        next
    }

    /// Returns whether a step of another thread with these accesses cannot be swapped with it.
    #[inline]
    pub fn depends_on(&self, accesses: &[Access]) -> bool {
        dependent(self.footprint.accesses(), accesses)
    }
}

/// A set of objects, rounded up: disjoint ones have no object in common. Small, since there can be very
/// many moves in wakeup trees.
#[derive(Clone, Copy, Debug)]
struct Objects(u32);

impl Objects {
    #[inline]
    fn of(accesses: &[Access]) -> Self {
        Self(accesses.iter().fold(0, |set, access| set | 1 << (access.object.index() % 32)))
    }

    #[inline]
    fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }
}

/// A sequence of steps, each with its accesses. A buffer that is used again and again.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    items: Vec<Item>,
    accesses: Vec<Access>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    step: Step,
    /// How many alternatives it has.
    choices: u32,
    objects: Objects,
    /// Where its accesses begin and end.
    first: u32,
    end: u32,
}

/// What a step is to a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initial {
    /// Not a weak initial.
    No,
    /// The item with this index among those asked about, and an initial.
    At(usize),
    /// Not in the sequence, and independent of all of it.
    Absent,
}

impl Sequence {
    /// Removes all steps.
    pub fn clear(&mut self) {
        self.items.clear();
        self.accesses.clear();
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds a step with these accesses, one of `choices` alternatives.
    #[inline]
    pub fn push(&mut self, step: Step, choices: u32, accesses: &[Access]) {
        let first = narrow(self.accesses.len());
        self.accesses.extend_from_slice(accesses);
        let end = narrow(self.accesses.len());
        self.items.push(Item { step, choices, objects: Objects::of(accesses), first, end });
    }

    /// Adds an event as it was.
    #[inline]
    pub fn push_event(&mut self, execution: &Execution, position: Position) {
        let event = execution.event(position);
        self.push(event.step(), event.choices, execution.accesses(position));
    }

    /// Adds a step as it would be.
    pub fn push_move(&mut self, by: &Move) {
        self.push(by.step, by.choices, by.footprint.accesses());
    }

    /// Returns the step with this index, as a move.
    pub fn to_move(&self, index: usize) -> Move {
        let Item { step, choices, .. } = self.items[index];
        Move::new(step, choices, Footprint::of_event(self.accesses(index)))
    }

    /// Returns the step with this index.
    #[inline]
    pub fn step(&self, index: usize) -> Step {
        self.items[index].step
    }

    /// Returns what the step with this index accesses.
    #[inline]
    pub fn accesses(&self, index: usize) -> &[Access] {
        let Item { first, end, .. } = self.items[index];
        &self.accesses[first as usize..end as usize]
    }

    /// Returns whether `other`, as it is before the sequence, is a weak initial of the items listed in `items`.
    #[inline]
    pub fn weak_initial(&self, items: impl Iterator<Item = usize>, other: &Move) -> Initial {
        for (index, number) in items.enumerate() {
            let item = &self.items[number];
            if item.step.thread == other.step.thread {
                // All before it are independent of it, so it acts there as at the beginning.
                let same = other.contains(item.step);
                return if same { Initial::At(index) } else { Initial::No };
            }
            if !item.objects.is_disjoint(other.objects) && other.depends_on(self.accesses(number)) {
                return Initial::No;
            }
        }
        Initial::Absent
    }
}

/// Steps with alternatives that are independent of a sequence and not in it.
///
/// What begins with one of them covers only those continuations of the sequence in which its thread takes that
/// alternative; so the sequence is covered when all alternatives of some thread are here, and not before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alternatives(Vec<Move>);

impl Alternatives {
    /// Adds a step. Returns whether all alternatives of its thread are there now.
    pub(crate) fn add(&mut self, by: &Move) -> bool {
        if by.is_complete() {
            return true;
        }
        self.0.push(by.clone());
        let of_thread = || self.0.iter().filter(|other| other.step.thread == by.step.thread);
        // None is there twice, mostly: then the sum says enough.
        if of_thread().map(|other| u64::from(other.size())).sum::<u64>() < u64::from(by.choices) {
            return false;
        }
        let mut ranges: Vec<(u32, u32)> =
            of_thread().map(|other| (other.step.choice, other.last_choice)).collect();
        ranges.sort_unstable();
        let mut next = 0;
        for (first, last) in ranges {
            if first <= next {
                next = next.max(last + 1);
            }
        }
        next >= by.choices
    }

    /// Those that are independent of `by` too, and not of its thread.
    pub(crate) fn after(&self, by: &Move) -> Self {
        let is_independent = |other: &&Move| {
            other.step.thread != by.step.thread && !other.depends_on(by.footprint.accesses())
        };
        Self(self.0.iter().filter(is_independent).cloned().collect())
    }
}

#[cfg(test)]
mod tests;
