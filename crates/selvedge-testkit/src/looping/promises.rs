//! Promises about random programs, decided by brute force: the whole graph of their own semantics, all pairs of states between
//! which there is a way, and all sets of threads that may run forever. Shares nothing with the tool.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::{At, Looping, MUTEXES, NAMES, Reached, State, VARIABLES};
use crate::random::Random;

/// `x == k`.
type Condition = (usize, i32);

/// What is promised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// That a condition becomes true.
    Eventually(Condition),
    /// That one follows another.
    LeadsTo(Condition, Condition),
    /// That threads pass marks: by thread, those before its statements.
    Progress(Vec<Vec<bool>>),
}

/// Which executions without end count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fair {
    /// All.
    Any,
    /// No thread can run all the time and does not.
    Weakly,
    /// No thread can run again and again and does not from some point on.
    Strongly,
}

/// A program that promises something.
#[derive(Clone, Debug)]
pub struct Promising {
    program: Looping,
    /// What.
    pub wanted: Wanted,
}

/// The states of a program, and from each the steps: to which state, by which thread, whether over a mark.
pub struct Whole {
    states: Vec<State>,
    steps: Vec<Vec<(usize, usize, bool)>>,
}

/// At most so many states: a set of them is a number.
const MOST: usize = 128;

fn set(states: impl Iterator<Item = usize>) -> u128 {
    states.fold(0, |set, state| set | 1 << state)
}

fn has(set: u128, state: usize) -> bool {
    set >> state & 1 == 1
}

impl Promising {
    /// Returns program number `seed`.
    pub fn new(seed: u64) -> Self {
        let program = Looping::new(seed);
        let random = &mut Random::new(seed ^ 0x5eed);
        let condition = |random: &mut Random| (random.below(VARIABLES), random.below(2) as i32);
        let wanted = match random.below(3) {
            0 => Wanted::Eventually(condition(random)),
            1 => Wanted::LeadsTo(condition(random), condition(random)),
            _ => {
                let mut marks = |body: &Vec<_>| body.iter().map(|_| random.one_in(3)).collect();
                let mut all: Vec<Vec<bool>> =
                    program.threads.iter().map(|(_, body)| marks(body)).collect();
                // Without a mark nothing is promised.
                all[0][0] = true;
                Wanted::Progress(all)
            }
        };
        Self { program, wanted }
    }

    fn has_mark(&self, thread: usize, place: usize) -> bool {
        matches!(&self.wanted, Wanted::Progress(marks) if marks[thread][place])
    }

    fn first(&self) -> State {
        State {
            threads: vec![At::Before(0); self.program.threads.len()],
            variables: [0; VARIABLES],
            mutexes: [None; MUTEXES],
        }
    }

    /// The state after a step, and whether that passes a mark.
    fn step(&self, state: &State, thread: usize) -> Option<(State, bool)> {
        let (next, is_done) = self.program.step(state, thread, &mut Reached::default())?;
        let is_marked = match next.threads[thread] {
            At::Before(place) if is_done => self.has_mark(thread, place),
            _ => false,
        };
        Some((next, is_marked))
    }

    /// Returns all states; `None` if there are too many.
    pub fn whole(&self) -> Option<Whole> {
        let mut whole = Whole { states: vec![self.first()], steps: Vec::new() };
        let mut known = BTreeMap::from([(self.first(), 0)]);
        while let Some(state) = whole.states.get(whole.steps.len()).cloned() {
            let mut steps = Vec::new();
            for thread in 0..self.program.threads.len() {
                let Some((next, is_marked)) = self.step(&state, thread) else { continue };
                let number = *known.entry(next.clone()).or_insert_with(|| {
                    whole.states.push(next);
                    whole.states.len() - 1
                });
                steps.push((number, thread, is_marked));
            }
            whole.steps.push(steps);
            if whole.states.len() > MOST {
                return None;
            }
        }
        Some(whole)
    }

    fn is_kept(&self, state: &State) -> bool {
        match self.wanted {
            Wanted::Eventually((at, value)) | Wanted::LeadsTo(_, (at, value)) => {
                state.variables[at] == value
            }
            Wanted::Progress(_) => false,
        }
    }

    fn is_asked(&self, state: &State) -> bool {
        matches!(self.wanted, Wanted::LeadsTo((at, value), _) if state.variables[at] == value)
    }

    fn is_progress(&self) -> bool {
        matches!(self.wanted, Wanted::Progress(_))
    }

    /// Returns whether there is an execution that does not keep the promise.
    pub fn is_broken(&self, whole: &Whole, fair: Fair) -> bool {
        let open = set((0..whole.states.len()).filter(|&at| {
            let state = &whole.states[at];
            !has_failed(state) && !self.is_kept(state)
        }));
        let mut reached = match self.wanted {
            Wanted::LeadsTo(..) => {
                set((0..whole.states.len()).filter(|&at| self.is_asked(&whole.states[at])))
            }
            _ => 1,
        } & open;
        loop {
            let from = (0..whole.states.len()).filter(|&at| has(reached, at));
            let more = set(from.flat_map(|at| &whole.steps[at]).map(|step| step.0)) & open;
            if more & !reached == 0 {
                break;
            }
            reached |= more;
        }
        let ends = (0..whole.states.len()).any(|at| has(reached, at) && whole.steps[at].is_empty());
        let threads = self.program.threads.len();
        (ends && !self.is_progress())
            || match fair {
                Fair::Any => self.rounds(whole, reached).iter().any(|&round| round != 0),
                Fair::Weakly => self.rounds(whole, reached).iter().any(|&round| {
                    round != 0
                        && (0..threads).all(|thread| {
                            self.runs(whole, round, thread)
                                || states_of(round).any(|at| !can_run(whole, at, thread))
                        })
                }),
                // For each set of threads that run forever: where the others never can.
                Fair::Strongly => (1..1_u32 << threads).any(|running| {
                    let runs = |thread: usize| running >> thread & 1 == 1;
                    let is_left_alone = |at: usize| {
                        (0..threads).all(|thread| runs(thread) || !can_run(whole, at, thread))
                    };
                    let inside = set(states_of(reached).filter(|&at| is_left_alone(at)));
                    self.rounds(whole, inside).iter().any(|&round| {
                        round != 0
                            && (0..threads)
                                .all(|thread| !runs(thread) || self.runs(whole, round, thread))
                    })
                }),
            }
    }

    /// Returns for each state those from which and to which there is a way inside of a set; none if there is no way back.
    fn rounds(&self, whole: &Whole, inside: u128) -> Vec<u128> {
        let count = whole.states.len();
        let mut ways: Vec<u128> = (0..count)
            .map(|at| match has(inside, at) {
                true => set(self.followed(whole, at).map(|step| step.0)) & inside,
                false => 0,
            })
            .collect();
        for middle in 0..count {
            for at in 0..count {
                if has(ways[at], middle) {
                    ways[at] |= ways[middle];
                }
            }
        }
        let back = |at: usize| set((0..count).filter(|&from| has(ways[from], at)));
        (0..count).map(|at| if has(ways[at], at) { ways[at] & back(at) } else { 0 }).collect()
    }

    /// The steps that a cycle may have.
    fn followed<'w>(
        &self,
        whole: &'w Whole,
        at: usize,
    ) -> impl Iterator<Item = &'w (usize, usize, bool)> + use<'w> {
        let is_progress = self.is_progress();
        whole.steps[at].iter().filter(move |step| !is_progress || !step.2)
    }

    fn runs(&self, whole: &Whole, round: u128, thread: usize) -> bool {
        states_of(round)
            .any(|at| self.followed(whole, at).any(|step| step.1 == thread && has(round, step.0)))
    }

    /// Returns what is wrong with an execution that is said not to keep the promise: threads by their numbers, and how many
    /// steps come before those that repeat.
    ///
    /// # Errors
    /// If it keeps the promise, or is no execution, or not a fair one.
    pub fn check(&self, steps: &[usize], cycle: Option<usize>, fair: Fair) -> Result<(), String> {
        let (mut states, mut marked) = (vec![self.first()], Vec::new());
        for (at, &thread) in steps.iter().enumerate() {
            let next = self.step(&states[at], thread);
            let (next, is_marked) = next.ok_or(format!("step {} cannot be taken", at + 1))?;
            states.push(next);
            marked.push(is_marked);
        }
        let last = &states[steps.len()];
        if has_failed(last) {
            return Err("a thread has failed".to_owned());
        }
        let able = |state: &State, thread: usize| self.step(state, thread).is_some();
        let threads = 0..self.program.threads.len();
        match cycle {
            None if threads.clone().any(|thread| able(last, thread)) => {
                return Err("it does not end".to_owned());
            }
            None => {}
            Some(before) => {
                if states[before] != *last || before == steps.len() {
                    return Err("it does not go round".to_owned());
                }
                let round = &states[before..];
                let is_fair = |thread: usize| {
                    let cannot = |state: &State| !able(state, thread);
                    steps[before..].contains(&thread)
                        || match fair {
                            Fair::Any => true,
                            Fair::Weakly => round.iter().any(cannot),
                            Fair::Strongly => round.iter().all(cannot),
                        }
                };
                if !threads.clone().all(is_fair) {
                    return Err("it is not fair".to_owned());
                }
            }
        }
        let is_broken = match (&self.wanted, cycle) {
            (Wanted::Eventually(_), _) => !states.iter().any(|state| self.is_kept(state)),
            (Wanted::LeadsTo(..), _) => (0..states.len()).any(|at| {
                let is_kept = |state: &State| self.is_kept(state);
                self.is_asked(&states[at])
                    && !states[at..].iter().any(is_kept)
                    && !cycle.is_some_and(|before| states[before..].iter().any(is_kept))
            }),
            (Wanted::Progress(_), Some(before)) => !marked[before..].contains(&true),
            (Wanted::Progress(_), None) => false,
        };
        if is_broken { Ok(()) } else { Err("it keeps the promise".to_owned()) }
    }
}

fn states_of(set: u128) -> impl Iterator<Item = usize> {
    (0..MOST).filter(move |&at| has(set, at))
}

fn can_run(whole: &Whole, at: usize, thread: usize) -> bool {
    whole.steps[at].iter().any(|step| step.1 == thread)
}

fn has_failed(state: &State) -> bool {
    state.threads.iter().any(|at| matches!(at, At::Failed(_)))
}

impl Display for Promising {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.program.write(f, &|thread, place| self.has_mark(thread, place))?;
        match self.wanted {
            Wanted::Eventually((at, value)) => writeln!(f, "eventually {} == {value};", NAMES[at]),
            Wanted::LeadsTo((at, value), (to, then)) => {
                writeln!(f, "always {} == {value} leads_to {} == {then};", NAMES[at], NAMES[to])
            }
            Wanted::Progress(_) => Ok(()),
        }
    }
}
