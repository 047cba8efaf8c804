//! Measuring: explorations side by side, repeated until their times mean something.

use std::time::Duration;

use selvedge_core::{Bound, Counts, Inconclusive, Report};
use selvedge_explore::{Algorithm, Equivalence, Limits, Options};
use selvedge_report::ExecutionsJson;
use serde::Serialize;

use super::programs::{Case, MOST_STEPS};
use crate::exit::Failure;
use crate::guard::Guard;
use crate::memory;
use crate::progress::Watch;
use crate::screen::Screen;
use crate::source::Loaded;

/// So many rounds make up the time that an algorithm gets, if one exploration is short. A round then
/// fits between two interruptions by other processes, and the median leaves out those that did not.
const ROUNDS: u32 = 100;
/// A median of fewer says nothing…
const FEWEST_ROUNDS: usize = 3;
/// …but explorations that take so many times the time they should get are not repeated for it.
const PATIENCE: u32 = 5;

/// How much time to spend.
pub(super) struct Effort {
    /// Whether to leave out what takes long.
    pub(super) quick: bool,
    /// No exploration may take longer.
    pub(super) limit: Duration,
    /// An algorithm should run at least so long on each program.
    enough: Duration,
}

impl Effort {
    pub(super) fn new(quick: bool, limit: Duration) -> Self {
        let enough = match quick {
            // The times of a debug build mean nothing, as it says.
            true if cfg!(debug_assertions) => 10,
            true => 100,
            false => 300,
        };
        Self { quick, limit, enough: Duration::from_millis(enough) }
    }

    /// Returns the same for explorations that may take longer.
    pub(super) fn with_limit(&self, limit: Duration) -> Self {
        Self { limit, ..*self }
    }

    /// Returns how long something should run.
    pub(super) fn enough(&self) -> Duration {
        self.enough
    }

    /// Returns whether this program is to be measured.
    pub(super) fn includes(&self, case: &Case) -> bool {
        !(self.quick && case.long)
    }
}

/// What an algorithm needs for a program.
#[derive(Serialize)]
pub(super) struct Measurement {
    /// The name of the algorithm.
    pub(super) algorithm: &'static str,
    pub(super) executions: ExecutionsJson,
    /// Events in the longest execution.
    pub(super) longest: usize,
    /// For the whole exploration: the median of the rounds.
    pub(super) seconds: f64,
    pub(super) ns_per_execution: f64,
    pub(super) peak_bytes: u64,
    /// For one exploration, in each round.
    pub(super) round_seconds: Vec<f64>,
}

impl Measurement {
    pub(super) fn time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }

    /// Executions of all kinds.
    pub(super) fn total(&self) -> u64 {
        let ExecutionsJson { complete, deadlocked, blocked, redundant, cut } = self.executions;
        complete + deadlocked + blocked + redundant + cut
    }
}

/// Returns how many times as long as with `base` an execution takes with `other`. Both ran in turn: the median
/// over pairs of rounds does not suffer from what disturbed both.
pub(super) fn ratio(other: &Measurement, base: &Measurement) -> f64 {
    let pairs = other.round_seconds.iter().zip(&base.round_seconds);
    let times = median(pairs.map(|(other, base)| other / base).collect());
    times * base.total() as f64 / other.total() as f64
}

/// Measures algorithms on a program, in turn. `None`: the time limit was reached, or the user
/// interrupted.
pub(super) fn measure(
    case: &Case,
    algorithms: &[Algorithm],
    effort: &Effort,
    screen: &Screen,
) -> Result<Vec<Option<Measurement>>, Failure> {
    let loaded = case.load(screen)?;
    let mut runs = Vec::new();
    for &algorithm in algorithms {
        runs.push(Run::start(case, &loaded, algorithm, effort)?);
    }
    for round in 0.. {
        if runs.iter().flatten().all(|run| run.is_enough(effort)) {
            break;
        }
        // Every other round goes backwards, so that no algorithm always comes after the same one.
        let forwards = 0..runs.len();
        let order: Vec<usize> =
            if round % 2 == 0 { forwards.collect() } else { forwards.rev().collect() };
        for index in order {
            if let Some(run) = &mut runs[index]
                && run.may_go_on(effort)
                && !run.add_round(case, &loaded, effort)?
            {
                runs[index] = None;
            }
        }
    }
    Ok(runs.into_iter().map(|run| run.map(Run::finish)).collect())
}

/// Measures one exploration of a program that was loaded before. `None`: the time limit was reached, or
/// the user interrupted.
pub(super) fn measure_once(
    case: &Case,
    loaded: &Loaded,
    algorithm: Algorithm,
    effort: &Effort,
) -> Result<Option<Measurement>, Failure> {
    let (explored, peak) = memory::peak_of(|| explore(case, loaded, algorithm, effort, true));
    let Some((report, time)) = explored? else { return Ok(None) };
    let run = Run {
        algorithm,
        counts: report.counts,
        longest: report.longest,
        peak,
        repeat: 1,
        rounds: vec![time],
    };
    Ok(Some(run.finish()))
}

/// An algorithm while it is measured.
struct Run {
    algorithm: Algorithm,
    counts: Counts,
    longest: usize,
    peak: u64,
    /// How many explorations make a round.
    repeat: u32,
    /// Time of one exploration, in each round.
    rounds: Vec<Duration>,
}

impl Run {
    /// Runs the first exploration: it counts memory, which costs time, and warms up.
    fn start(
        case: &Case,
        loaded: &Loaded,
        algorithm: Algorithm,
        effort: &Effort,
    ) -> Result<Option<Self>, Failure> {
        let (explored, peak) = memory::peak_of(|| explore(case, loaded, algorithm, effort, true));
        let Some((report, time)) = explored? else { return Ok(None) };
        let round = (effort.enough / ROUNDS).as_secs_f64();
        let repeat = (round / time.as_secs_f64().max(1e-6)).ceil() as u32;
        Ok(Some(Self {
            algorithm,
            counts: report.counts,
            longest: report.longest,
            peak,
            repeat,
            rounds: Vec::new(),
        }))
    }

    fn spent(&self) -> Duration {
        self.rounds.iter().sum::<Duration>() * self.repeat
    }

    fn is_enough(&self, effort: &Effort) -> bool {
        let enough = self.rounds.len() >= FEWEST_ROUNDS && self.spent() >= effort.enough;
        enough || !self.may_go_on(effort)
    }

    /// Returns whether there is time for a round, also if only another algorithm needs it.
    fn may_go_on(&self, effort: &Effort) -> bool {
        self.spent() < PATIENCE * effort.enough
    }

    /// Returns whether it came to its end.
    fn add_round(
        &mut self,
        case: &Case,
        loaded: &Loaded,
        effort: &Effort,
    ) -> Result<bool, Failure> {
        let mut sum = Duration::ZERO;
        for _ in 0..self.repeat {
            match explore(case, loaded, self.algorithm, effort, false)? {
                Some((_, time)) => sum += time,
                None => return Ok(false),
            }
        }
        self.rounds.push(sum / self.repeat);
        Ok(true)
    }

    fn finish(self) -> Measurement {
        let round_seconds: Vec<f64> = self.rounds.iter().map(Duration::as_secs_f64).collect();
        let seconds = median(round_seconds.clone());
        Measurement {
            algorithm: self.algorithm.info().name,
            executions: self.counts.into(),
            longest: self.longest,
            seconds,
            ns_per_execution: seconds * 1e9 / self.counts.total() as f64,
            peak_bytes: self.peak,
            round_seconds,
        }
    }
}

/// Explores once. `None`: it did not come to its end.
fn explore(
    case: &Case,
    loaded: &Loaded,
    algorithm: Algorithm,
    effort: &Effort,
    show_line: bool,
) -> Result<Option<(Report, Duration)>, Failure> {
    let label = if show_line {
        format!("{}, {}", case.title(), algorithm.info().name)
    } else {
        String::new()
    };
    let Some((report, time)) = run_once(loaded, algorithm, effort, &label) else { return Ok(None) };
    match wrong_count(case, algorithm, report.counts) {
        Some(wrong) => Err(Failure::Internal(wrong)),
        None => Ok(Some((report, time))),
    }
}

/// Explores once, and shows a line while it does unless the label is empty. `None`: it did not come to its end.
pub(super) fn run_once(
    loaded: &Loaded,
    algorithm: Algorithm,
    effort: &Effort,
    label: &str,
) -> Option<(Report, Duration)> {
    let limits = Limits { steps: MOST_STEPS, ..Limits::default() };
    let guard = Guard::start(Some(effort.limit));
    let budget = guard.budget().clone();
    let options = Options { keep_going: true, limits, budget, ..Options::default() };
    let mut watch = Watch::start(!label.is_empty(), label);
    let report = selvedge_explore::explore(algorithm, &|| loaded.system(), &options, &mut watch);
    let time = watch.finish();
    let stopped = |reason: &Inconclusive| {
        matches!(reason, Inconclusive::Bound(Bound::Time | Bound::Memory | Bound::Interrupted))
    };
    (!report.inconclusive.iter().any(stopped)).then_some((report, time))
}

/// Returns what is wrong with the number of executions. Sleep sets let no class through twice, so that this
/// number is known for every algorithm that uses them.
fn wrong_count(case: &Case, algorithm: Algorithm, counts: Counts) -> Option<String> {
    let info = algorithm.info();
    let Counts { complete, deadlocked, blocked, redundant, cut } = counts;
    if algorithm == Algorithm::ContextSensitive {
        // How often it comes to a state that it knows depends on the order of its search.
        return None;
    }
    let ended = complete + deadlocked + blocked;
    let (classes, optimal) = match (info.equivalence, case.observations) {
        (Equivalence::Observation, Some(observations)) => (observations, true),
        (Equivalence::State, Some(executions)) => (executions, false),
        _ => (case.classes, info.optimal),
    };
    let right = ended == classes && cut == 0 && !(optimal && redundant > 0);
    (!right).then(|| {
        format!(
            "wrong count: {} has {classes} classes, but {} ran {ended} maximal executions, {redundant} \
             redundant and {cut} cut ones",
            case.title(),
            info.name,
        )
    })
}

/// Returns the one in the middle; `NaN` of nothing.
pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => numbers[middle],
        _ => f64::midpoint(numbers[middle - 1], numbers[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::programs::RATE;

    #[test]
    fn wrong_counts_are_seen() {
        let case = &RATE[0];
        let right = Counts { complete: case.classes, ..Counts::default() };
        let wrong = |algorithm, counts| wrong_count(case, algorithm, counts).is_some();
        assert!(!wrong(Algorithm::Optimal, right));
        let redundant = Counts { redundant: 1, ..right };
        assert!(!wrong(Algorithm::Source, redundant));
        assert!(wrong(Algorithm::Optimal, redundant));
        assert!(wrong(Algorithm::Source, Counts { complete: case.classes - 1, ..right }));
        assert!(wrong(Algorithm::Source, Counts { complete: case.classes + 1, ..right }));
        assert!(wrong(Algorithm::Source, Counts { cut: 1, ..right }));
        let message = wrong_count(case, Algorithm::Optimal, redundant).expect("it is wrong");
        assert!(message.contains("readers N=8 has 256 classes"), "{message}");
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 9.0]), 3.0);
        assert_eq!(median(vec![3.0, 1.0, 9.0, 5.0]), 4.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn ratios_are_per_execution_and_per_round() {
        let measurement = |redundant, round_seconds: &[f64]| Measurement {
            algorithm: "",
            executions: Counts { complete: 100, redundant, ..Counts::default() }.into(),
            longest: 1,
            seconds: 1.0,
            ns_per_execution: 1.0,
            peak_bytes: 0,
            round_seconds: round_seconds.to_vec(),
        };
        // The second round was disturbed as a whole.
        let base = measurement(100, &[2.0, 20.0, 2.0]);
        let other = measurement(0, &[3.0, 30.0, 3.0]);
        assert_eq!(ratio(&other, &base), 3.0);
    }
}
