//! The explorers that the command line chooses from.

use std::fmt;
use std::sync::OnceLock;

use selvedge_core::Report;
use selvedge_explore::{Algorithm, ExplorerOf, Info, Observer, Options};
use selvedge_lang::Interpreter;

/// Explorers of programs in the modelling language.
pub type Registry = selvedge_explore::Registry<Interpreter>;

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

/// An explorer of the registry.
#[derive(Clone, Copy)]
pub(crate) struct Chosen(&'static dyn ExplorerOf<Interpreter>);

impl Chosen {
    pub(crate) fn info(self) -> Info {
        self.0.info()
    }

    pub(crate) fn explore(
        self,
        make: &dyn Fn() -> Interpreter,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        self.0.explore(make, options, observer)
    }

    /// Returns whether it is the one for which an option of the command line is.
    pub(crate) fn is(self, algorithm: Algorithm) -> bool {
        self.info().name == algorithm.info().name
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
impl From<Algorithm> for Chosen {
    fn from(algorithm: Algorithm) -> Self {
        named(algorithm.info().name).expect("every algorithm is in the registry")
    }
}
