//! Parts of a search as JSON: in checkpoints, and in messages between processes and machines.

use selvedge_core::{
    Bound, Counts, Inconclusive, Place, Schedule, ThreadId, ThreadKey, Violation, ViolationKind,
};
use selvedge_explore::{Ask, Part, Pending, Rest, Tally};
use serde::{Deserialize, Serialize};

/// A part of a search.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(transparent)]
pub struct PartJson(Is);

#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "kebab-case")]
enum Is {
    Done(Box<TallyJson>),
    ToDo(PendingJson),
    Rest(PendingJson),
}

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct PendingJson {
    unit: String,
    share: f64,
    #[serde(default, skip_serializing_if = "is_zero")]
    floor: usize,
}

/// A number that most explorers have no use for is not written.
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct TallyJson {
    complete: u64,
    deadlocked: u64,
    blocked: u64,
    redundant: u64,
    cut: u64,
    steps: u64,
    longest: usize,
    threads: Vec<String>,
    violations: Vec<ViolationJson>,
    inconclusive: Vec<DoubtJson>,
    share: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<PendingJson>,
    /// The node, and the threads of which one is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    asks: Vec<(usize, Vec<String>)>,
    #[serde(default, skip_serializing_if = "is_zero")]
    floor: usize,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct ViolationJson {
    kind: String,
    message: String,
    places: Vec<PlaceJson>,
    notes: Vec<String>,
    thread: Option<usize>,
    schedule: String,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct PlaceJson {
    file: String,
    line: u32,
    column: u32,
    length: u32,
}

/// Why nothing is proved: what can be the case in the middle of a search.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "kebab-case")]
enum DoubtJson {
    Steps(usize),
    /// A bound on preemptions, and whether everything within it is covered.
    Preemptions(u32, bool),
    ContextSwitches(u32, bool),
    GaveUp(String),
}

impl PartJson {
    /// Returns the JSON of a part.
    pub fn of(part: &Part) -> Self {
        Self(match part {
            Part::ToDo(unit) => Is::ToDo(PendingJson::of(unit)),
            Part::Rest(rest) => Is::Rest(PendingJson::of(&rest.pending())),
            Part::Done(tally, from) => {
                let from = from.as_ref().map(PendingJson::of);
                Is::Done(Box::new(TallyJson { from, ..TallyJson::of(tally) }))
            }
        })
    }

    /// Returns the part; nothing if this is none.
    pub fn part(&self) -> Option<Part> {
        Some(match &self.0 {
            Is::ToDo(unit) => Part::ToDo(unit.pending()),
            Is::Rest(rest) => Part::Rest(Rest::of(&rest.pending())?),
            Is::Done(tally) => {
                Part::Done(tally.tally()?, tally.from.as_ref().map(PendingJson::pending))
            }
        })
    }
}

impl PendingJson {
    pub(crate) fn of(unit: &Pending) -> Self {
        Self { unit: unit.unit.clone(), share: unit.share, floor: unit.floor }
    }

    pub(crate) fn pending(&self) -> Pending {
        Pending { unit: self.unit.clone(), share: self.share, floor: self.floor }
    }
}

impl TallyJson {
    fn of(tally: &Tally) -> Self {
        let Counts { complete, deadlocked, blocked, redundant, cut } = tally.counts;
        let violations = tally.violations.iter();
        Self {
            complete,
            deadlocked,
            blocked,
            redundant,
            cut,
            steps: tally.steps,
            longest: tally.longest,
            threads: tally.threads.iter().map(ThreadKey::to_string).collect(),
            violations: violations.map(|(found, by)| ViolationJson::of(found, by)).collect(),
            inconclusive: tally.inconclusive.iter().map(DoubtJson::of).collect(),
            share: tally.share,
            from: None,
            asks: tally.asks.iter().map(ask_json).collect(),
            floor: tally.floor,
        }
    }

    fn tally(&self) -> Option<Tally> {
        let &Self { complete, deadlocked, blocked, redundant, cut, .. } = self;
        Some(Tally {
            counts: Counts { complete, deadlocked, blocked, redundant, cut },
            steps: self.steps,
            longest: self.longest,
            threads: self.threads.iter().map(|key| key.parse().ok()).collect::<Option<_>>()?,
            violations: self.violations.iter().map(ViolationJson::found).collect::<Option<_>>()?,
            inconclusive: self.inconclusive.iter().map(DoubtJson::reason).collect(),
            share: self.share,
            asks: self.asks.iter().map(ask).collect::<Option<_>>()?,
            floor: self.floor,
        })
    }
}

fn ask_json(ask: &Ask) -> (usize, Vec<String>) {
    (ask.node, ask.threads.iter().map(ThreadKey::to_string).collect())
}

fn ask((node, threads): &(usize, Vec<String>)) -> Option<Ask> {
    let threads = threads.iter().map(|name| name.parse().ok()).collect::<Option<_>>()?;
    Some(Ask { node: *node, threads })
}

impl ViolationJson {
    fn of(violation: &Violation, schedule: &Schedule) -> Self {
        let place = |place: &Place| PlaceJson {
            file: place.file.clone(),
            line: place.line,
            column: place.column,
            length: place.length,
        };
        Self {
            kind: violation.kind.name().to_owned(),
            message: violation.message.clone(),
            places: violation.places.iter().map(place).collect(),
            notes: violation.notes.clone(),
            thread: violation.thread.map(ThreadId::index),
            schedule: schedule.to_string(),
        }
    }

    fn found(&self) -> Option<(Violation, Schedule)> {
        let place = |place: &PlaceJson| Place {
            file: place.file.clone(),
            line: place.line,
            column: place.column,
            length: place.length,
        };
        let violation = Violation {
            kind: ViolationKind::named(&self.kind)?,
            message: self.message.clone(),
            places: self.places.iter().map(place).collect(),
            notes: self.notes.clone(),
            thread: self.thread.map(ThreadId::new),
        };
        Some((violation, self.schedule.parse().ok()?))
    }
}

impl DoubtJson {
    fn of(reason: &Inconclusive) -> Self {
        match reason {
            Inconclusive::Bound(Bound::Steps(most)) => DoubtJson::Steps(*most),
            &Inconclusive::Bound(Bound::Preemptions { most, exact }) => {
                DoubtJson::Preemptions(most, exact)
            }
            &Inconclusive::Bound(Bound::ContextSwitches { most, exact }) => {
                DoubtJson::ContextSwitches(most, exact)
            }
            other => DoubtJson::GaveUp(other.to_string()),
        }
    }

    fn reason(&self) -> Inconclusive {
        match self {
            DoubtJson::Steps(most) => Inconclusive::Bound(Bound::Steps(*most)),
            &DoubtJson::Preemptions(most, exact) => {
                Inconclusive::Bound(Bound::Preemptions { most, exact })
            }
            &DoubtJson::ContextSwitches(most, exact) => {
                Inconclusive::Bound(Bound::ContextSwitches { most, exact })
            }
            DoubtJson::GaveUp(why) => Inconclusive::GaveUp(why.clone()),
        }
    }
}
