//! Systems that wrap another, and systems without abilities: methods of `System` that are written by name.

/// Passes methods of [`System`](crate::System) on to the system inside. No method has a default, so one that is
/// neither passed on nor written out is a compile error: a wrapper cannot forget any.
///
/// ```
/// # use selvedge_core::{Effect, Step, System, forward_system};
/// struct Counting<S> {
///     inner: S,
///     steps: u64,
/// }
///
/// impl<S: System> System for Counting<S> {
///     fn step(&mut self, step: Step, effect: &mut Effect) {
///         self.steps += 1;
///         self.inner.step(step, effect);
///     }
///
///     forward_system! { self => self.inner;
///         restart rewind thread_count thread_key object_key status choices pending obstacles end freed
///         ahead values judging foresight conditions states promises
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_system {
    ($this:ident => $inner:expr; $($method:ident)*) => {
        $($crate::forward_system!(@ $method, $this, $inner);)*
    };
    (@ restart, $this:ident, $inner:expr) => {
        fn restart(&mut $this) {
            $inner.restart();
        }
    };
    (@ rewind, $this:ident, $inner:expr) => {
        fn rewind(&mut $this, kept: &[$crate::Step]) {
            $inner.rewind(kept);
        }
    };
    (@ thread_count, $this:ident, $inner:expr) => {
        fn thread_count(&$this) -> usize {
            $inner.thread_count()
        }
    };
    (@ thread_key, $this:ident, $inner:expr) => {
        fn thread_key(&$this, thread: $crate::ThreadId) -> $crate::ThreadKey {
            $inner.thread_key(thread)
        }
    };
    (@ object_key, $this:ident, $inner:expr) => {
        fn object_key(&$this, object: $crate::ObjectId) -> $crate::ObjectKey {
            $inner.object_key(object)
        }
    };
    (@ status, $this:ident, $inner:expr) => {
        fn status(&$this, thread: $crate::ThreadId) -> $crate::Status {
            $inner.status(thread)
        }
    };
    (@ choices, $this:ident, $inner:expr) => {
        fn choices(&$this, thread: $crate::ThreadId) -> u32 {
            $inner.choices(thread)
        }
    };
    (@ pending, $this:ident, $inner:expr) => {
        fn pending(&mut $this, step: $crate::Step, effect: &mut $crate::Effect) {
            $inner.pending(step, effect);
        }
    };
    (@ obstacles, $this:ident, $inner:expr) => {
        fn obstacles(&mut $this, thread: $crate::ThreadId, objects: &mut Vec<$crate::ObjectId>) {
            $inner.obstacles(thread, objects);
        }
    };
    (@ step, $this:ident, $inner:expr) => {
        fn step(&mut $this, step: $crate::Step, effect: &mut $crate::Effect) {
            $inner.step(step, effect);
        }
    };
    (@ end, $this:ident, $inner:expr) => {
        fn end(&mut $this) -> ($crate::Ending, Option<$crate::Violation>) {
            $inner.end()
        }
    };
    (@ freed, $this:ident, $inner:expr) => {
        fn freed(&$this) -> &[$crate::Freed] {
            $inner.freed()
        }
    };
    (@ ahead, $this:ident, $inner:expr) => {
        fn ahead(&mut $this) -> Option<&mut dyn $crate::Ahead> {
            $inner.ahead()
        }
    };
    (@ values, $this:ident, $inner:expr) => {
        fn values(&$this) -> Option<&dyn $crate::Values> {
            $inner.values()
        }
    };
    (@ judging, $this:ident, $inner:expr) => {
        fn judging(&mut $this) -> Option<&mut dyn $crate::Judging> {
            $inner.judging()
        }
    };
    (@ foresight, $this:ident, $inner:expr) => {
        fn foresight(&mut $this) -> Option<&mut dyn $crate::Foresight> {
            $inner.foresight()
        }
    };
    (@ conditions, $this:ident, $inner:expr) => {
        fn conditions(&mut $this) -> Option<&mut dyn $crate::Conditions> {
            $inner.conditions()
        }
    };
    (@ states, $this:ident, $inner:expr) => {
        fn states(&mut $this) -> Option<&mut dyn $crate::States> {
            $inner.states()
        }
    };
    (@ promises, $this:ident, $inner:expr) => {
        fn promises(&mut $this) -> Option<&mut dyn $crate::Promises> {
            $inner.promises()
        }
    };
}

/// Writes the methods of [`System`](crate::System) for what a front end does not have, by name: threads that are created
/// and objects that come into being as it runs (the numbers of the others are their names), `rewind` by replay,
/// `obstacles` by footprints, no memory to free, and abilities that are absent. What is not named has to be written
/// out, so nothing is answered that the front end did not ask for.
///
/// Of a [`GraphSystem`](crate::GraphSystem): `rewind_of_threads`, `memory` of its own (four methods), and `judge`.
///
/// ```
/// # use selvedge_core::{Effect, Ending, Status, Step, System, ThreadId, Violation, without};
/// struct Nothing;
///
/// impl System for Nothing {
///     fn restart(&mut self) {}
///     fn thread_count(&self) -> usize {
///         0
///     }
///     fn status(&self, _: ThreadId) -> Status {
///         Status::Absent
///     }
///     fn choices(&self, _: ThreadId) -> u32 {
///         1
///     }
///     fn pending(&mut self, _: Step, effect: &mut Effect) {
///         effect.clear();
///     }
///     fn step(&mut self, _: Step, effect: &mut Effect) {
///         effect.clear();
///     }
///     fn end(&mut self) -> (Ending, Option<Violation>) {
///         (Ending::Complete, None)
///     }
///
///     without! { thread_key object_key rewind obstacles freed ahead values judging foresight conditions states promises }
/// }
/// ```
#[macro_export]
macro_rules! without {
    ($($method:ident)*) => {
        $($crate::without!(@ $method);)*
    };
    (@ thread_key) => {
        fn thread_key(&self, thread: $crate::ThreadId) -> $crate::ThreadKey {
            $crate::ThreadKey::root(thread.number())
        }
    };
    (@ object_key) => {
        fn object_key(&self, object: $crate::ObjectId) -> $crate::ObjectKey {
            $crate::ObjectKey::declared(object.number())
        }
    };
    (@ rewind) => {
        fn rewind(&mut self, kept: &[$crate::Step]) {
            $crate::rewind_by_replay(self, kept);
        }
    };
    (@ obstacles) => {
        fn obstacles(&mut self, thread: $crate::ThreadId, objects: &mut Vec<$crate::ObjectId>) {
            $crate::obstacles_by_footprint(self, thread, objects);
        }
    };
    (@ freed) => {
        fn freed(&self) -> &[$crate::Freed] {
            &[]
        }
    };
    (@ ahead) => {
        fn ahead(&mut self) -> Option<&mut dyn $crate::Ahead> {
            None
        }
    };
    (@ values) => {
        fn values(&self) -> Option<&dyn $crate::Values> {
            None
        }
    };
    (@ judging) => {
        fn judging(&mut self) -> Option<&mut dyn $crate::Judging> {
            None
        }
    };
    (@ foresight) => {
        fn foresight(&mut self) -> Option<&mut dyn $crate::Foresight> {
            None
        }
    };
    (@ conditions) => {
        fn conditions(&mut self) -> Option<&mut dyn $crate::Conditions> {
            None
        }
    };
    (@ states) => {
        fn states(&mut self) -> Option<&mut dyn $crate::States> {
            None
        }
    };
    (@ promises) => {
        fn promises(&mut self) -> Option<&mut dyn $crate::Promises> {
            None
        }
    };
    (@ rewind_of_threads) => {
        fn rewind(&mut self, _: $crate::ThreadId, _: usize) -> bool {
            false
        }
    };
    (@ memory) => {
        fn has_memory(&self) -> bool {
            false
        }
        fn would_write(&self, _: $crate::ThreadId, _: $crate::Bits) -> Option<$crate::Bits> {
            None
        }
        fn is_newest(&mut self, _: $crate::ThreadId, _: bool) {}
        fn memory_of(&self, at: $crate::Location) -> $crate::Location {
            at
        }
    };
    (@ judge) => {
        fn judge(
            &mut self,
            _: &dyn Fn($crate::Location) -> Option<$crate::Bits>,
        ) -> Option<($crate::Ending, Option<$crate::Violation>)> {
            None
        }
    };
}
