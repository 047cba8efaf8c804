//! The mistakes, by what they are made in.

mod conditions;
mod constraints;
mod graphs;
mod language;
mod library;
mod observations;
mod observers;
mod parsimonious;
mod promises;
mod reduction;
mod states;
mod symbolic;
mod unfolding;

/// A mistake: in `file`, `right` becomes `wrong`, and then `test` of the file `suite` in `tests/` must fail, or of
/// the tests within the crate: `lib`.
pub(crate) struct Mistake {
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    pub(crate) right: &'static str,
    pub(crate) wrong: &'static str,
    pub(crate) suite: &'static str,
    pub(crate) test: &'static str,
}

impl Mistake {
    /// Where its file is, and the package of its test.
    pub(crate) fn home(&self) -> (&'static str, &'static str) {
        match self.name.split_once(": ") {
            Some(("library", _)) => ("crates/selvedge/src", "selvedge"),
            Some(("runtime", _)) => ("crates/selvedge-rt/src", "selvedge"),
            Some(("core", _)) => ("crates/selvedge-core/src", "selvedge-core"),
            Some((
                "saved" | "always" | "symmetry" | "channels" | "scans" | "ghosts" | "actors",
                _,
            )) => ("crates/selvedge-lang/src", "selvedge-testkit"),
            Some(("language", _)) => ("crates/selvedge-lang/src", "selvedge-lang"),
            _ if self.suite == "lib" => ("crates/selvedge-explore/src", "selvedge-explore"),
            Some(("symbolic" | "constraints", _)) => {
                ("crates/selvedge-symbolic/src", "selvedge-symbolic")
            }
            _ => ("crates/selvedge-explore/src", "selvedge-testkit"),
        }
    }
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Mistake> {
    [
        reduction::MISTAKES,
        states::MISTAKES,
        promises::MISTAKES,
        parsimonious::MISTAKES,
        observations::MISTAKES,
        observers::MISTAKES,
        unfolding::MISTAKES,
        conditions::MISTAKES,
        constraints::MISTAKES,
        symbolic::MISTAKES,
        library::MISTAKES,
        language::MISTAKES,
        graphs::MISTAKES,
    ]
    .into_iter()
    .flatten()
}
