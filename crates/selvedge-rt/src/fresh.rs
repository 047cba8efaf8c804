//! Values of an execution that begin anew in the memory of those of the execution before.

/// A value that each execution has its own of.
pub trait Fresh {
    /// Returns the value at the beginning of an execution. It takes over the memory of `last` and nothing else: its fields are
    /// all written out, so that none can be forgotten.
    fn fresh(last: Self) -> Self;
}

impl<T> Fresh for Vec<T> {
    fn fresh(mut last: Self) -> Self {
        last.clear();
        last
    }
}
