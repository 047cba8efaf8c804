//! How executions are covered: by an algorithm, or by random ones.

use selvedge_core::{Covers, Report};
use selvedge_explore::{
    Independence, Observer, Observers, Options, QuasiOptions, Sampling, Setting,
};
use selvedge_lang::ThreadNames;
use selvedge_report::Tree;

use crate::args::SamplingArgs;
use crate::progress::Watch;
use crate::recorded::Recorder;
use crate::registry::{self, Chosen};
use crate::source::{Sample, Subject};
use crate::summary;

/// How executions are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// One of each class. The options are for `quasi` and for `optimal` alone.
    Explore(Chosen, QuasiOptions, Observers),
    /// Some at random.
    Sample { sampling: Sampling, executions: u64, seed: u64 },
}

impl Method {
    pub(crate) fn new(algorithm: Chosen, quasi: QuasiOptions, args: &SamplingArgs) -> Self {
        let Some(executions) = args.sample else {
            return Method::Explore(algorithm, quasi, Observers::default());
        };
        let sampling = match args.pct {
            Some(depth) => Sampling::Pct { depth },
            None => Sampling::Uniform,
        };
        Method::Sample { sampling, executions, seed: args.seed }
    }

    /// Returns the same, with observers if they are wanted.
    pub(crate) fn with_observers(self, wanted: bool) -> Self {
        match self {
            Method::Explore(algorithm, quasi, _) if wanted => {
                // One that chooses leaves no choice: there is one that takes them.
                let mut choices = algorithm.info().chooses_from.iter();
                let taker = choices.find_map(|name| {
                    registry::named(name).filter(|other| other.takes(Setting::Observers))
                });
                Method::Explore(taker.unwrap_or(algorithm), quasi, Observers::Decide)
            }
            _ => self,
        }
    }

    /// Returns what was found, and if `record` says so, which executions there were.
    pub(crate) fn run<L: Subject>(
        self,
        loaded: &L,
        options: &Options,
        record: bool,
        watch: &mut Watch,
    ) -> (Report, Option<Tree>) {
        if !record {
            return (self.run_with(loaded, options, None, watch), None);
        }
        let mut recorder = Recorder::new(watch);
        let names = recorder.names();
        let report = self.run_with(loaded, options, Some(&names), &mut recorder);
        (report, Some(recorder.into_tree()))
    }

    pub(crate) fn run_with<L: Subject>(
        self,
        loaded: &L,
        options: &Options,
        names: Option<&ThreadNames>,
        observer: &mut dyn Observer,
    ) -> Report {
        match self {
            Method::Explore(algorithm, ..) => loaded.explore(algorithm, options, names, observer),
            Method::Sample { sampling, executions, seed } => {
                let sample = Sample { sampling, executions, seed };
                loaded.sample(sample, options, names, observer)
            }
        }
    }

    /// Returns whether it takes this option. A sampled execution keeps to bounds on its switches.
    pub(crate) fn takes(self, setting: Setting) -> bool {
        match self {
            Method::Explore(algorithm, ..) => algorithm.takes(setting),
            Method::Sample { .. } => setting == Setting::SwitchBounds,
        }
    }

    /// Returns its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Explore(algorithm, ..) => algorithm.info().name,
            Method::Sample { .. } => "sample",
        }
    }

    /// Returns how it is reported.
    pub(crate) fn reported(self, report: &Report) -> selvedge_report::Method {
        let (equivalence, seed) = match self {
            Method::Explore(algorithm, _, observers) => {
                let decided = report.decision.as_ref().map(|decision| decision.equivalence);
                let own = algorithm.info().equivalence_with(observers).name();
                (Some(decided.unwrap_or(own)), None)
            }
            Method::Sample { seed, .. } => (None, Some(seed)),
        };
        selvedge_report::Method::Explored { algorithm: self.name(), equivalence, seed }
    }

    /// Returns its name, what makes it repeatable, and which explorer decided if it chose one.
    pub(crate) fn describe_with(self, report: &Report) -> String {
        match &report.decision {
            None => self.describe(),
            Some(decision) => format!("{}: {}", self.describe(), summary::decision(decision)),
        }
    }

    /// Returns its name, and what makes it repeatable.
    pub(crate) fn describe(self) -> String {
        match self {
            Method::Explore(algorithm, quasi, observers) => {
                let name = algorithm.info().name;
                let observers = match observers {
                    Observers::Absent => "",
                    Observers::Decide => ", --observers (traces with observers)",
                };
                let k = quasi.k.map_or(String::new(), |k| format!(", --k {k}"));
                let locks_only = match quasi.independence {
                    Independence::AllAccesses => "",
                    Independence::LocksOnly => ", --locks-only",
                };
                format!("{name}{k}{locks_only}{observers}")
            }
            Method::Sample { sampling: Sampling::Uniform, seed, .. } => {
                format!("uniform sample, --seed {seed}")
            }
            Method::Sample { sampling: Sampling::Pct { depth }, seed, .. } => {
                format!("sample with random priorities, --pct {depth} --seed {seed}")
            }
        }
    }

    /// Returns what its "verified" would cover; of a sample: what it looks at.
    pub(crate) fn covers(self, options: &Options) -> Covers {
        match self {
            Method::Explore(algorithm, ..) => algorithm.info().covers_with(options),
            Method::Sample { .. } => Covers::EVERYTHING,
        }
    }
}
