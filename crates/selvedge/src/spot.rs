//! Places in checked Rust code.

use std::panic::Location;

use selvedge_core::Place;

/// A place in checked code.
pub(crate) type Spot = &'static Location<'static>;

/// A place as reports show it.
pub(crate) fn place(spot: &Location<'_>) -> Place {
    Place { file: spot.file().to_owned(), line: spot.line(), column: spot.column(), length: 1 }
}

/// The name of all objects of a kind that are created at a place.
pub(crate) fn object_name(kind: &str, created: Spot) -> String {
    let file = created.file().rsplit(['/', '\\']).next().unwrap_or(created.file());
    format!("{kind}@{file}:{}", created.line())
}
