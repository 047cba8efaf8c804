//! All explorers, compiled once for all tests.

use selvedge_core::{Report, System};
use selvedge_explore::{Algorithm, Observer, Options};

/// As [`selvedge_explore::explore`], for systems of any type, without compiling all explorers again for that type: that would
/// be most of what it costs to build a test program.
pub fn explore<'a, S: System + 'a>(
    algorithm: Algorithm,
    make: &'a dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    explore_boxed(algorithm, &|| Box::new(make()), options, observer)
}

/// The one instance.
fn explore_boxed<'a>(
    algorithm: Algorithm,
    make: &dyn Fn() -> Box<dyn System + 'a>,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    selvedge_explore::explore(algorithm, make, options, observer)
}
