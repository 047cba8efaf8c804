//! The rows of the papers' tables, as printed; `≥` is what a search had found when it was stopped.

mod constrained;
mod data_centric;
mod optimal;
mod quasi;
mod transactions;

use std::fmt::{self, Display, Formatter};
use std::num::NonZeroU32;

use selvedge_explore::Algorithm;
use selvedge_symbolic::Scheme;

/// A paper with the rows of its tables.
pub(super) struct Paper {
    pub(super) title: &'static str,
    /// What the numbers are.
    pub(super) note: &'static str,
    /// What is counted.
    pub(super) counts: &'static str,
    pub(super) rows: &'static [Row],
}

/// A row: a program with values for its constants.
pub(super) struct Row {
    /// As the paper calls it.
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) text: &'static str,
    pub(super) constants: &'static [(&'static str, i64)],
    /// Whether it is left out in a quick run.
    pub(super) is_large: bool,
    pub(super) printed: &'static [Printed],
}

/// What is printed for one of the tools in a row.
pub(super) struct Printed {
    pub(super) tool: &'static str,
    pub(super) here: Here,
    pub(super) count: &'static str,
    pub(super) seconds: &'static str,
    /// Whether ours takes more than a minute.
    pub(super) long: bool,
}

/// What stands for a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Here {
    Explorer(Algorithm),
    /// Partial alternatives; `None` is optimal.
    Quasi(Option<NonZeroU32>),
    /// Pairs of steps between which a token can pass.
    Pairs(Scheme),
}

impl Display for Here {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Here::Explorer(algorithm) => f.write_str(algorithm.info().name),
            Here::Quasi(None) => f.write_str("quasi"),
            Here::Quasi(Some(k)) => write!(f, "quasi --k {k}"),
            Here::Pairs(scheme) => f.write_str(scheme.name()),
        }
    }
}

const fn quasi(k: u32) -> Here {
    Here::Quasi(NonZeroU32::new(k))
}

const fn one(
    tool: &'static str,
    here: Here,
    count: &'static str,
    seconds: &'static str,
) -> Printed {
    Printed { tool, here, count, seconds, long: false }
}

const fn long(printed: Printed) -> Printed {
    Printed { long: true, ..printed }
}

const CLASSIC: Here = Here::Explorer(Algorithm::Classic);
const SOURCE: Here = Here::Explorer(Algorithm::Source);
const OPTIMAL: Here = Here::Explorer(Algorithm::Optimal);
const DATA_CENTRIC: Here = Here::Explorer(Algorithm::DataCentric);
const CONTEXT_SENSITIVE: Here = Here::Explorer(Algorithm::ContextSensitive);
const CONSTRAINED: Here = Here::Explorer(Algorithm::Constrained);
const TOKEN: Here = Here::Pairs(Scheme::Token);
const MAT: Here = Here::Pairs(Scheme::Mat);

macro_rules! row {
    ($name:literal, $file:literal, [$($constant:ident = $value:literal),*], $large:literal, $($printed:expr),+ $(,)?) => {
        $crate::bench::papers::rows::Row {
            name: $name,
            file: concat!($file, ".sel"),
            text: include_str!(concat!("../../../../../../programs/", $file, ".sel")),
            constants: &[$((stringify!($constant), $value)),*],
            is_large: $large,
            printed: &[$($printed),+],
        }
    };
}

use row;

/// All papers.
pub(super) const PAPERS: &[Paper] = &[
    Paper {
        title: "Optimal DPOR",
        note: "POPL 2014, section 9; executions, with redundant ones after a +",
        counts: "executions",
        rows: optimal::ROWS,
    },
    Paper {
        title: "Quasi-optimal POR",
        note: "CAV 2018, Table 1; maximal configurations + those that are blocked by sleep sets; TO: more than 8 minutes",
        counts: "executions",
        rows: quasi::ROWS,
    },
    Paper {
        title: "Data-centric DPOR",
        note: "POPL 2018, Table 3; for DPOR the classes of traces, which the paper counts with those that are not maximal",
        counts: "classes",
        rows: data_centric::ROWS,
    },
    Paper {
        title: "Constrained DPOR",
        note: "CAV 2018, Table 1; executions; constraints are found during the search, and that counts",
        counts: "executions",
        rows: constrained::ROWS,
    },
    Paper {
        title: "Mutually atomic transactions",
        note: "SPIN 2009, Table 1; pairs between which the token can pass; `rounds` is a program like theirs, not theirs",
        counts: "pairs",
        rows: transactions::ROWS,
    },
];
