//! The explorers that the command line chooses from.

use std::fmt;
use std::sync::{Arc, OnceLock};

use selvedge_core::Report;
use selvedge_explore::{Auto, Explorer, ExplorerOf, Info, Observer, Options, Setting};
use selvedge_lang::Interpreter;

use crate::exit::Failure;
use crate::named::Named;
use crate::native::Program;

/// Explorers, of programs in the modelling language and of compiled ones.
pub struct Registry {
    models: selvedge_explore::Registry<Interpreter>,
    compiled: selvedge_explore::Registry<Named<Program>>,
}

impl Default for Registry {
    /// Returns all that come with the tool, and the one that chooses among them.
    fn default() -> Self {
        Self {
            models: selvedge_explore::Registry::default(),
            compiled: selvedge_explore::Registry::default(),
        }
        .with(Auto)
    }
}

impl Registry {
    /// Adds an explorer.
    ///
    /// # Panics
    /// If there is one with the same name.
    #[must_use]
    pub fn with(self, explorer: impl Explorer) -> Self {
        let explorer = Arc::new(explorer);
        Self {
            models: self.models.with(Arc::clone(&explorer)),
            compiled: self.compiled.with(explorer),
        }
    }
}

/// The name of the explorer that is taken if none is asked for.
pub(crate) const DEFAULT: &str = Auto::INFO.name;

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
    let registry = REGISTRY.get_or_init(Registry::default);
    let both = registry.models.iter().zip(registry.compiled.iter());
    both.map(|(of_models, of_compiled)| Chosen { of_models, of_compiled })
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
pub(crate) struct Chosen {
    of_models: &'static dyn ExplorerOf<Interpreter>,
    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        allow(dead_code, reason = "C programs are checked on Linux on x86-64 only")
    )]
    of_compiled: &'static dyn ExplorerOf<Named<Program>>,
}

impl Chosen {
    pub(crate) fn info(self) -> Info {
        self.of_models.info()
    }

    pub(crate) fn explore(
        self,
        make: &dyn Fn() -> Interpreter,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        self.of_models.explore(make, options, observer)
    }

    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        allow(dead_code, reason = "C programs are checked on Linux on x86-64 only")
    )]
    pub(crate) fn explore_compiled(
        self,
        make: &dyn Fn() -> Named<Program>,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        self.of_compiled.explore(make, options, observer)
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
