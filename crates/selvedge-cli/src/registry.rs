//! The explorers that the command line chooses from.

use std::fmt;
use std::sync::OnceLock;

use selvedge_core::Report;
use selvedge_explore::{ExplorerOf, Info, Observer, Options, Setting};

use crate::exit::Failure;
use crate::subject::Subject;

/// Explorers of programs in the modelling language.
pub type Registry = selvedge_explore::Registry<Subject>;

/// Set once, before the arguments are parsed: they name explorers.
static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// Makes `registry` what everything else chooses from.
pub(crate) fn set(registry: Registry) {
    if REGISTRY.set(registry).is_err() {
        panic!("internal error: the registry is set twice");
    }
}

/// Returns all explorers, in the order in which they are listed.
pub(crate) fn all() -> impl Iterator<Item = Chosen> {
    REGISTRY.get_or_init(Registry::default).iter().map(Chosen)
}

/// Returns the explorer with this name.
pub(crate) fn named(name: &str) -> Option<Chosen> {
    all().find(|explorer| explorer.info().name == name)
}

/// Returns the names of those that take this option, quoted.
pub(crate) fn takers(setting: Setting) -> Vec<String> {
    all()
        .filter(|explorer| explorer.takes(setting))
        .map(|it| format!("`{}`", it.info().name))
        .collect()
}

/// Returns the complaint about an option of the command line that the chosen algorithm does not take.
pub(crate) fn only_applies(option: &str, setting: Setting) -> Failure {
    let takers = takers(setting);
    let how = match takers.as_slice() {
        [] => format!("leave out {option}"),
        [first, ..] => {
            format!("add --algorithm {}, or leave out {option}", first.trim_matches('`'))
        }
    };
    Failure::User(format!("{option} only applies to {}\n  {how}", takers.join(", ")))
}

/// An explorer of the registry.
#[derive(Clone, Copy)]
pub(crate) struct Chosen(&'static dyn ExplorerOf<Subject>);

impl Chosen {
    pub(crate) fn info(self) -> Info {
        self.0.info()
    }

    pub(crate) fn explore(
        self,
        make: &dyn Fn() -> Subject,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        self.0.explore(make, options, observer)
    }

    pub(crate) fn takes(self, setting: Setting) -> bool {
        self.info().takes(setting)
    }
}

impl PartialEq for Chosen {
    fn eq(&self, other: &Self) -> bool {
        self.info().name == other.info().name
    }
}

impl Eq for Chosen {}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)
    }
}

#[cfg(test)]
impl From<selvedge_explore::Algorithm> for Chosen {
    fn from(algorithm: selvedge_explore::Algorithm) -> Self {
        named(algorithm.info().name).expect("every algorithm is in the registry")
    }
}
