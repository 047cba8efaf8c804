//! The parts of a frontier while threads work on it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use selvedge_core::{Counts, Report};

use super::frontier::{Part, Pending, Tally};
use super::rest::{Piece, Rest};
use super::worker::Worker;

/// A part of the frontier, while it is worked on.
pub(super) struct Slot {
    pub(super) number: u64,
    /// The unit that it began with, if it may have to be run again.
    pub(super) start: Option<Pending>,
    /// The floor, unless it is done.
    pub(super) floor: usize,
    pub(super) what: What,
}

pub(super) enum What {
    ToDo(Pending),
    Running(Arc<Live>),
    /// Its worker pauses: what it has done, and what is left.
    Paused(Tally, Vec<Part>),
    Done(Tally),
    Rest(Rest),
}

/// What a worker tells the others from time to time.
#[derive(Default)]
pub(super) struct Live {
    pub(super) news: Mutex<News>,
    /// Whether what it does is of no use any more.
    pub(super) is_needless: AtomicBool,
}

#[derive(Clone, Copy, Default)]
pub(super) struct News {
    pub(super) counts: Counts,
    pub(super) steps: u64,
    pub(super) longest: usize,
    pub(super) share: f64,
}

impl News {
    pub(super) fn of(worker: &dyn Worker) -> Self {
        let report = worker.report();
        let &Report { counts, steps, longest, .. } = report;
        Self { counts, steps, longest, share: worker.share() }
    }
}

impl Piece for Slot {
    fn floor(&self) -> usize {
        match &self.what {
            What::Done(tally) => tally.floor,
            What::Rest(rest) => rest.floor,
            _ => self.floor,
        }
    }

    fn done(&mut self) -> Option<&mut Tally> {
        match &mut self.what {
            What::Done(tally) => Some(tally),
            _ => None,
        }
    }

    fn rest(&self) -> Option<&Rest> {
        match &self.what {
            What::Rest(rest) => Some(rest),
            _ => None,
        }
    }
}

impl Slot {
    pub(super) fn new(number: u64, part: Part) -> Self {
        let floor = part.floor();
        let (start, what) = match part {
            Part::Done(tally, start) => (start, What::Done(tally)),
            Part::ToDo(unit) => (None, What::ToDo(unit)),
            Part::Rest(rest) => (None, What::Rest(rest)),
        };
        Self { number, start, floor, what }
    }

    /// Adds what was done right after it, if nothing depends on where that begins.
    pub(super) fn absorbs(&mut self, next: &Slot) -> bool {
        match (&mut self.what, &next.what) {
            (What::Done(sum), What::Done(more))
                if self.start.is_none() && next.start.is_none() && sum.is_one_with(more) =>
            {
                sum.add(more);
                true
            }
            _ => false,
        }
    }

    /// Tells its worker to stop, if it has one.
    pub(super) fn stop(&self) {
        if let What::Running(live) = &self.what {
            live.is_needless.store(true, Relaxed);
        }
    }

    /// Returns what it has done at least.
    pub(super) fn done(&self) -> News {
        match &self.what {
            What::ToDo(_) | What::Rest(_) => News::default(),
            What::Running(live) => live.news(),
            What::Paused(tally, _) | What::Done(tally) => {
                let &Tally { counts, steps, longest, share, .. } = tally;
                News { counts, steps, longest, share }
            }
        }
    }
}

impl Live {
    pub(super) fn news(&self) -> News {
        *self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
