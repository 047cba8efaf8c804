//! Sequences of steps with what each touches, and their weak initials.

use selvedge_core::{Access, Step, dependent};

/// A sequence of steps, each with its accesses. A buffer that is used again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    items: Vec<Item>,
    accesses: Vec<Access>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    step: Step,
    /// Where its accesses begin and end.
    first: u32,
    end: u32,
}

/// What a step is to a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Initial {
    /// Not a weak initial.
    No,
    /// The item with this index among those asked about, and an initial.
    At(usize),
    /// Not in the sequence, and independent of all of it.
    Absent,
}

impl Sequence {
    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.accesses.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, step: Step, accesses: &[Access]) {
        let first = self.accesses.len() as u32;
        self.accesses.extend_from_slice(accesses);
        self.items.push(Item { step, first, end: self.accesses.len() as u32 });
    }

    #[inline]
    pub(crate) fn step(&self, index: usize) -> Step {
        self.items[index].step
    }

    #[inline]
    pub(crate) fn accesses(&self, index: usize) -> &[Access] {
        let Item { first, end, .. } = self.items[index];
        &self.accesses[first as usize..end as usize]
    }

    /// Whether `step`, which has these accesses before the sequence, is a weak initial of the items
    /// listed in `items`.
    #[inline]
    pub(crate) fn weak_initial(
        &self,
        items: impl Iterator<Item = usize>,
        step: Step,
        accesses: &[Access],
    ) -> Initial {
        for (index, item) in items.enumerate() {
            let other = self.items[item].step;
            if other.thread == step.thread {
                // All before it are independent of it, so it acts there as at the beginning.
                let same = other.choice == step.choice;
                return if same { Initial::At(index) } else { Initial::No };
            }
            if dependent(self.accesses(item), accesses) {
                return Initial::No;
            }
        }
        Initial::Absent
    }
}
