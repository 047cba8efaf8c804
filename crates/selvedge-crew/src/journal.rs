//! What a process was told while it ran units, so that another process can be told the same.
//!
//! Compiled code is explored with knowledge that is not in the results of units: which loops wait, which variables on stacks
//! threads share, which operations may end without reason. That knowledge consists of addresses and states of one process, so it
//! is not kept itself. Kept are the units that told it ([`Lesson`]), in the order in which they were run: a process that runs
//! them once more, and throws their results away, knows what the first one knew, and goes on with the frontier from there.

use selvedge_explore::{Frontier, Ledger, Part, Pending};
use serde::{Deserialize, Serialize};

use crate::crew::Crew;
use crate::parts::{PartJson, PendingJson};

/// Keeps a search that continues, where its process may be killed.
pub trait Keeper {
    /// Returns whether it is time to keep it. Asked several times a second.
    fn is_due(&mut self) -> bool;

    /// Keeps it.
    fn keep(&mut self, frontier: &Frontier, told: &Told);
}

/// Units that told a process something: so many, from one on. Of these only the last one did.
#[derive(Serialize, Deserialize, Clone, Debug)]
struct Lesson {
    from: PendingJson,
    units: u64,
}

/// All that a process was told.
#[derive(Serialize, Deserialize, Clone, Default, Debug)]
pub struct Told {
    /// In the order in which they were run. The first is the first unit of the search, whether it told something or not.
    lessons: Vec<Lesson>,
    /// What the first unit led to: another program, or the same one with other inputs, would lead elsewhere.
    opening: String,
    /// [`Crew::told`] after the last of them.
    known: u64,
}

/// Where a search was interrupted.
struct Interrupted {
    frontier: Frontier,
    /// How many of the lessons this process has run.
    learned: usize,
}

/// What happens to a search besides running it.
#[derive(Default)]
pub struct Journal<'a> {
    keeper: Option<&'a mut dyn Keeper>,
    told: Told,
    interrupted: Option<Interrupted>,
    /// The process runs at most so many units at a time, so that lessons are short.
    most: u64,
}

impl<'a> Journal<'a> {
    /// Returns the journal of a search that begins, or that goes on where it was interrupted.
    pub fn new(keeper: &'a mut dyn Keeper, interrupted: Option<(Frontier, Told)>) -> Self {
        // If it was interrupted before its first unit, it begins.
        let (interrupted, told) = match interrupted {
            Some((frontier, told)) if !told.lessons.is_empty() => {
                (Some(Interrupted { frontier, learned: 0 }), told)
            }
            _ => (None, Told::default()),
        };
        Self { keeper: Some(keeper), told, interrupted, most: 1 }
    }

    /// From now on nothing is kept: the process was told something by other means than units.
    pub fn close(&mut self) {
        self.keeper = None;
    }

    /// Keeps the search now, unless this process has not yet come to where it was interrupted: then what was kept is still what
    /// there is to keep.
    pub fn keep(&mut self, frontier: &Frontier) {
        if self.interrupted.is_none()
            && let Some(keeper) = &mut self.keeper
        {
            keeper.keep(frontier, &self.told);
        }
    }

    pub(crate) fn keep_if_due(&mut self, frontier: &Frontier) {
        if self.keeper.as_mut().is_some_and(|keeper| keeper.is_due()) {
            self.keep(frontier);
        }
    }

    /// Returns whether the search is kept: the process then stops as soon as it is told something.
    pub fn is_kept(&self) -> bool {
        self.keeper.is_some()
    }

    /// Returns how many units the process runs next.
    pub(crate) fn most(&self, usual: u64) -> u64 {
        match self.keeper {
            Some(_) => self.most.min(usual),
            None => usual,
        }
    }

    /// The process has run so many units, from one on, which led to these parts.
    pub(crate) fn note(&mut self, unit: &Pending, units: u64, parts: &[Part], known: u64) {
        if self.keeper.is_none() {
            return;
        }
        let is_first = self.told.lessons.is_empty();
        if is_first {
            self.told.opening = text(parts);
        }
        if is_first || known != self.told.known {
            self.told.lessons.push(Lesson { from: PendingJson::of(unit), units });
            self.told.known = known;
            self.most = 1;
        } else {
            self.most = self.most.saturating_mul(2);
        }
    }
}

/// Parts as a text.
fn text(parts: &[Part]) -> String {
    let parts: Vec<PartJson> = parts.iter().map(PartJson::of).collect();
    serde_json::to_string(&parts).expect("internal error: parts are not text")
}

impl Crew<'_> {
    /// Has this process told what another one was told, and then the ledger go on where that was interrupted. Returns whether it
    /// came there; if not, the budget is exhausted, or something was learned that makes the search begin again.
    pub(crate) fn catch_up(
        &self,
        ledger: &mut Ledger,
        journal: &mut Journal<'_>,
    ) -> Result<bool, String> {
        if let Some(interrupted) = &mut journal.interrupted {
            ledger.restore(interrupted.frontier.clone());
            while let Some(lesson) = journal.told.lessons.get(interrupted.learned) {
                let is_stopped = || self.budget.is_spent() || (self.is_void)();
                let mut go_on = |ran| ran < lesson.units && !is_stopped();
                let parts = (self.run)(&lesson.from.pending(), &mut go_on)?;
                if self.budget.is_spent() {
                    return Ok(false);
                }
                if interrupted.learned == 0 && text(&parts) != journal.told.opening {
                    return Err(another());
                }
                interrupted.learned += 1;
                if (self.is_void)() {
                    return Ok(false);
                }
            }
            if (self.told)() != journal.told.known {
                return Err(another());
            }
            journal.interrupted = None;
        }
        journal.told.known = (self.told)();
        Ok(true)
    }
}

fn another() -> String {
    "the program does not do what it did when the search was interrupted".to_owned()
}
