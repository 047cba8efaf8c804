//! What is measured: programs of the corpus with values for their constants, and how many classes
//! of executions they have. The derivations stand in the programs.

use std::collections::BTreeMap;

use selvedge_report::ConstantJson;

use crate::exit::Failure;
use crate::screen::Screen;
use crate::source::Loaded;

/// A program with values for its constants.
pub(super) struct Case {
    /// The name of the program.
    pub(super) program: &'static str,
    text: &'static str,
    /// The values of its constants.
    pub(super) constants: &'static [(&'static str, i64)],
    /// How many classes of executions it has.
    pub(super) classes: u64,
    /// How many observation classes, if that is measured.
    pub(super) observations: Option<u64>,
    /// Whether it is too large for a quick run.
    pub(super) long: bool,
}

impl Case {
    /// Returns its name in tables: `readers N=8`.
    pub(super) fn title(&self) -> String {
        let constants = self.constants.iter().map(|(name, value)| format!(" {name}={value}"));
        format!("{}{}", self.program, constants.collect::<String>())
    }

    /// Returns the constants by name.
    pub(super) fn constants(&self) -> BTreeMap<String, ConstantJson> {
        let constant = |&(name, value): &(&str, i64)| (name.to_owned(), ConstantJson::Int(value));
        self.constants.iter().map(constant).collect()
    }

    /// Compiles it without the independence constraints that it declares.
    pub(super) fn load_without_constraints(&self, screen: &Screen) -> Result<Loaded, Failure> {
        let lines = self.text.lines().filter(|line| !line.starts_with("independent("));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        Loaded::compile(format!("{}.sel", self.program), text, self.constants(), screen)
    }

    /// Compiles it.
    pub(super) fn load(&self, screen: &Screen) -> Result<Loaded, Failure> {
        let file = format!("{}.sel", self.program);
        Loaded::compile(file, self.text.to_owned(), self.constants(), screen)
    }
}

/// A program of the corpus: where it stands, its constants, its classes.
macro_rules! case {
    ($folder:literal, $name:literal, $($constant:ident = $value:literal)+ => $classes:literal) => {
        Case {
            program: $name,
            text: include_str!(concat!("../../../../programs/", $folder, "/", $name, ".sel")),
            constants: &[$((stringify!($constant), $value)),+],
            classes: $classes,
            observations: None,
            long: false,
        }
    };
}

const fn long(case: Case) -> Case {
    Case { long: true, ..case }
}

const fn observed(case: Case, observations: u64) -> Case {
    Case { observations: Some(observations), ..case }
}

/// The programs on which `data-centric` is compared with `optimal`.
pub(super) const OBSERVED: &[Case] = &[
    observed(case!("data-centric", "writes-then-read", N = 5 => 672), 11),
    observed(case!("data-centric", "write-then-read", K = 4 => 576), 125),
    observed(case!("data-centric", "pipeline", K = 7 => 4_096), 729),
    observed(case!("data-centric", "alternate", N = 4 => 3_334), 1_107),
    observed(case!("data-centric", "key-rotation", C = 3 => 7_448), 5_503),
    observed(case!("data-centric", "three-cycle", N = 5 => 12_114), 126),
    observed(case!("data-centric", "sieve", N = 7 => 2_688), 532),
    long(observed(case!("data-centric", "alternate", N = 5 => 34_904), 8_953)),
];

/// The programs on which `constrained` is compared with `source` and `context-sensitive`; after their traces, how many
/// executions `constrained` needs.
pub(super) const TASKS: &[Case] = &[
    long(observed(case!("constrained", "fib", N = 6 => 4_096), 1)),
    long(observed(case!("constrained", "quicksort", N = 10 => 512), 1)),
    long(observed(case!("constrained", "mergesort", N = 8 => 128), 1)),
    long(observed(case!("constrained", "pi", N = 7 => 5_040), 1)),
    long(observed(case!("constrained", "parallel-sort", N = 4 => 288), 1)),
    long(observed(case!("constrained", "database", N = 5 => 243), 32)),
    long(observed(case!("constrained", "bounded-buffer", N = 6 => 924), 64)),
];

/// The largest programs of the paper on constrained reduction, for `constrained` alone. They have too many traces to
/// count.
pub(super) const TASKS_ALONE: &[Case] = &[
    observed(case!("constrained", "fib", N = 14 => 0), 1),
    observed(case!("constrained", "quicksort", N = 200 => 0), 1),
    observed(case!("constrained", "mergesort", N = 220 => 0), 1),
    observed(case!("constrained", "pi", N = 20 => 0), 1),
    observed(case!("constrained", "parallel-sort", N = 11 => 0), 1),
    long(observed(case!("constrained", "database", N = 12 => 0), 4_096)),
    long(observed(case!("constrained", "bounded-buffer", N = 11 => 0), 2_048)),
];

/// The largest programs of the paper on data-centric reduction, for `data-centric` alone.
pub(super) const OBSERVED_ALONE: &[Case] = &[
    long(observed(case!("data-centric", "alternate", N = 7 => 4_027_216), 616_227)),
    long(observed(case!("data-centric", "pipeline", K = 13 => 16_777_216), 531_441)),
];

/// The programs on which the algorithms are compared.
pub(super) const RATE: &[Case] = &[
    case!("optimal-dpor", "readers", N = 8 => 256),
    case!("optimal-dpor", "readers", N = 13 => 8_192),
    case!("optimal-dpor", "lastzero", N = 8 => 704),
    case!("optimal-dpor", "lastzero", N = 10 => 3_328),
    long(case!("optimal-dpor", "lastzero", N = 15 => 147_456)),
    case!("optimal-dpor", "filesystem", N = 19 => 64),
    long(case!("optimal-dpor", "indexer", N = 15 => 4_096)),
    case!("optimal-dpor", "writers", N = 7 => 5_040),
    case!("locks", "counter", T = 4 K = 2 => 2_520),
    case!("locks", "philosophers", N = 8 => 255),
    case!("optimal-dpor", "alternate", N = 4 => 3_334),
    long(case!("optimal-dpor", "alternate", N = 5 => 34_904)),
    case!("quasi-optimal", "coupled-races", N = 10 => 20),
    case!("quasi-optimal", "dispatcher", S = 5 R = 3 => 1_482),
    case!("quasi-optimal", "mpat", K = 5 => 3_840),
    case!("quasi-optimal", "mpc", P = 2 W = 5 => 60),
    long(case!("quasi-optimal", "mpc", P = 3 W = 5 => 2_958)),
    case!("quasi-optimal", "pi", T = 7 => 5_040),
    long(case!("quasi-optimal", "poke", T = 7 I = 3 => 2_440)),
    long(case!("quasi-optimal", "poke", T = 12 I = 3 => 12_940)),
    case!("quasi-optimal", "two-columns", N = 8 => 12_870),
];

/// Long executions with few races: L private steps of each thread, then the races of
/// `alternate`, which make as many classes for every L.
const PRIVATE_STEPS: &str = include_str!("private-steps.sel");

const fn private_steps(constants: &'static [(&'static str, i64)], classes: u64) -> Case {
    let (program, text, observations) = ("private-steps", PRIVATE_STEPS, None);
    Case { program, text, constants, classes, observations, long: false }
}

/// The same races after longer and longer prefixes.
pub(super) const GROWTH: &[Case] = &[
    private_steps(&[("L", 10)], 328),
    private_steps(&[("L", 100)], 328),
    private_steps(&[("L", 1_000)], 328),
    long(private_steps(&[("L", 10_000)], 328)),
];

/// One execution of 100,000 steps: without rounds there are no races.
pub(super) const SINGLE: Case = private_steps(&[("L", 50_000), ("ROUNDS", 0)], 1);

/// Programs in several sizes, for the growth of time and memory with the number of classes.
pub(super) const SCALE: &[Case] = &[
    case!("optimal-dpor", "readers", N = 8 => 256),
    case!("optimal-dpor", "readers", N = 11 => 2_048),
    long(case!("optimal-dpor", "readers", N = 14 => 16_384)),
    long(case!("optimal-dpor", "readers", N = 17 => 131_072)),
    case!("optimal-dpor", "lastzero", N = 8 => 704),
    case!("optimal-dpor", "lastzero", N = 10 => 3_328),
    long(case!("optimal-dpor", "lastzero", N = 12 => 15_360)),
    long(case!("optimal-dpor", "lastzero", N = 15 => 147_456)),
    case!("quasi-optimal", "mpat", K = 4 => 384),
    case!("quasi-optimal", "mpat", K = 5 => 3_840),
    long(case!("quasi-optimal", "mpat", K = 6 => 46_080)),
];

/// Programs for several workers. The long ones take seconds with one.
pub(super) const SHARED: &[Case] = &[
    case!("optimal-dpor", "readers", N = 13 => 8_192),
    long(case!("optimal-dpor", "readers", N = 18 => 262_144)),
    long(case!("optimal-dpor", "lastzero", N = 18 => 1_376_256)),
    long(case!("optimal-dpor", "alternate", N = 7 => 4_027_216)),
];

/// A program in many sizes, for curves.
pub(super) struct Family {
    pub(super) program: &'static str,
    text: &'static str,
    /// Values of its constant N.
    pub(super) sizes: &'static [u32],
    pub(super) peers: &'static [Peer],
}

/// What another tool needs for the same programs; `docs/comparison.md` says how it was measured.
pub(super) struct Peer {
    pub(super) name: &'static str,
    /// By N.
    pub(super) seconds: &'static [(u32, f64)],
}

impl Family {
    /// Compiles it in one size.
    pub(super) fn load(&self, size: u32, screen: &Screen) -> Result<Loaded, Failure> {
        let constants = BTreeMap::from([("N".to_owned(), ConstantJson::Int(size.into()))]);
        let file = format!("{}.sel", self.program);
        Loaded::compile(file, self.text.to_owned(), constants, screen)
    }
}

macro_rules! family {
    ($name:literal, $sizes:expr, $nidhugg:expr, $genmc:expr) => {
        Family {
            program: $name,
            text: include_str!(concat!("../../../../programs/optimal-dpor/", $name, ".sel")),
            sizes: $sizes,
            peers: &[
                Peer { name: "Nidhugg 0.4, optimal", seconds: $nidhugg },
                Peer { name: "GenMC 0.11, SC", seconds: $genmc },
            ],
        }
    };
}

/// The programs of the plots.
pub(super) const PLOTTED: &[Family] = &[
    family!("readers", &[2, 4, 6, 8, 10, 12, 14, 16, 18], &[], &[]),
    family!("lastzero", &[2, 4, 6, 8, 10, 12, 14, 16], &[(10, 1.17)], &[(10, 0.57)]),
    family!("writers", &[2, 3, 4, 5, 6, 7, 8, 9], &[(7, 0.51)], &[(7, 0.13)]),
    family!("alternate", &[1, 2, 3, 4, 5, 6], &[(4, 0.27), (5, 2.12)], &[(4, 0.15), (5, 0.51)]),
];

/// More than any of these programs needs.
pub(super) const MOST_STEPS: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the classes that the header of the program names for these constants.
    fn classes_in_header(case: &Case) -> Option<u64> {
        let setting: Vec<String> =
            case.constants.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let setting = format!("{}: classes=", setting.join(", "));
        case.text.lines().find_map(|line| {
            let line = line.strip_prefix("//# ")?;
            let line = line.strip_prefix("slow ").unwrap_or(line);
            line.strip_prefix(&setting)?.split(' ').next()?.parse().ok()
        })
    }

    #[test]
    fn the_classes_are_those_of_the_headers() {
        let known = RATE.iter().filter_map(|case| Some((case, classes_in_header(case)?)));
        let known: Vec<_> = known.collect();
        for (case, classes) in &known {
            assert_eq!(case.classes, *classes, "{}", case.title());
        }
        assert!(known.len() >= 18, "only {} of the settings have a header", known.len());
        for case in OBSERVED {
            assert_eq!(classes_in_header(case), Some(case.classes), "{}", case.title());
            let header = format!("classes={} observations=", case.classes);
            let mut lines = case.text.lines();
            let line = lines.find(|line| line.contains(&header)).expect("it has a header");
            let observations = line.rsplit('=').next().and_then(|number| number.parse().ok());
            assert_eq!(observations, case.observations, "{}", case.title());
        }
    }

    /// What is drawn is what the page on other tools says.
    #[test]
    fn the_figures_of_peers_are_those_of_the_page() {
        let page = include_str!("../../../../docs/comparison.md");
        for family in PLOTTED {
            for (column, peer) in family.peers.iter().enumerate() {
                for (size, seconds) in peer.seconds {
                    let start = format!("| {} N={size} |", family.program);
                    let row = page.lines().find(|line| line.starts_with(&start));
                    let cells: Vec<&str> = row.expect("the page has it").split('|').collect();
                    assert_eq!(cells[3 + column].trim(), format!("{seconds} s"), "{start}");
                }
            }
        }
    }

    #[test]
    fn titles_are_unique() {
        let mut titles: Vec<String> = RATE.iter().chain(GROWTH).map(Case::title).collect();
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), RATE.len() + GROWTH.len());
    }
}
