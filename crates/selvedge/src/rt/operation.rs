//! Visible operations: what a thread announces before it does it.

use std::panic::Location;
use std::sync::atomic::Ordering;

use selvedge_core::{Effect, Flexibility, Mode, ObjectId};

use super::lock_order::Waits;
use super::runtime::Runtime;
use super::whim::Key;

/// A place in checked code.
pub(crate) type Spot = &'static Location<'static>;

/// One visible operation. It lives on the stack of its thread, which stands at it until it is
/// chosen; everything here looks at the state and changes nothing.
pub(crate) trait Operation {
    /// Whether it can run now.
    fn is_enabled(&self, _rt: &Runtime, _me: usize) -> bool {
        true
    }

    /// How many alternatives it has now.
    fn choices(&self, _rt: &Runtime, _me: usize) -> u32 {
        1
    }

    /// What others can do to it: it is asked only for that.
    fn is_subject_to(&self) -> Subject {
        Subject::Both
    }

    /// Which of several alternatives it takes if nothing changes, however often it comes again.
    fn left_alone(&self) -> Option<u32> {
        None
    }

    /// What it would touch now; if it cannot run, what decides when it can.
    fn effect(&self, rt: &mut Runtime, me: usize, choice: u32, effect: &mut Effect);

    /// What it is, without values.
    fn text(&self, rt: &Runtime, me: usize) -> String;

    /// Why it cannot run, and who could change that.
    fn waits_for(&self, _rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        None
    }

    /// Whether it chooses if another operation ends without reason; see `whim.rs`.
    fn is_whim(&self) -> bool {
        false
    }

    /// The same, if nobody knows whether it matters.
    fn undecided_whim(&self, _rt: &Runtime) -> Option<Key> {
        None
    }

    /// What must be so for it to wait, if it need not be.
    fn depends_on(&self) -> Option<&'static str> {
        None
    }

    /// What it may wait for.
    fn waits(&self) -> Waits {
        match self.is_subject_to() {
            Subject::Nothing => Waits::Never,
            Subject::Waiting | Subject::Both => Waits::Other,
        }
    }

    /// Whether time alone would end the wait, so that waiting for ever does not count.
    fn is_timed(&self) -> bool {
        false
    }

    /// Whether the thread was taken to wait for something, and at the end that is not so: then another execution
    /// covers this one.
    fn is_without_reason(&self, _rt: &Runtime) -> bool {
        false
    }
}

/// What may differ from state to state while a thread stands at an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// It can always run, in one way.
    Nothing,
    /// Whether it can run; there is one way.
    Waiting,
    /// Whether it can run, and in how many ways.
    Both,
}

/// Reads or writes one object, always in the same way.
pub(crate) struct Touch {
    pub(crate) object: ObjectId,
    pub(crate) mode: Mode,
    /// Whether it synchronises nothing.
    pub(crate) plain: bool,
    pub(crate) verb: &'static str,
    /// The memory ordering that the code asks for.
    pub(crate) order: Option<Ordering>,
}

impl Operation for Touch {
    #[inline]
    fn is_subject_to(&self) -> Subject {
        Subject::Nothing
    }

    #[inline]
    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.object, self.mode);
        effect.plain = self.plain;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("{} {}{}", self.verb, rt.object_name(self.object), ordering(self.order))
    }
}

/// A memory ordering as a remark, if it is worth one.
pub(crate) fn ordering(order: Option<Ordering>) -> String {
    match order {
        None | Some(Ordering::SeqCst) => String::new(),
        Some(order) => format!(" ({order:?})"),
    }
}

/// Writes the object if a condition on its value holds now, and else reads it.
pub(crate) struct Compare<'a> {
    pub(crate) object: ObjectId,
    pub(crate) writes: &'a dyn Fn() -> bool,
    pub(crate) verb: &'static str,
    pub(crate) order: Option<Ordering>,
}

impl Operation for Compare<'_> {
    #[inline]
    fn is_subject_to(&self) -> Subject {
        Subject::Nothing
    }

    #[inline]
    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        let mode = if (self.writes)() { Mode::Update } else { Mode::Read };
        effect.footprint.add(self.object, mode);
        effect.flexibility = Flexibility::Conditional;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("{} {}{}", self.verb, rt.object_name(self.object), ordering(self.order))
    }
}

/// Waits until a condition on one object holds; then reads or writes it.
pub(crate) struct Await<'a> {
    pub(crate) object: ObjectId,
    pub(crate) ready: &'a dyn Fn() -> bool,
    pub(crate) writes: &'a dyn Fn() -> bool,
    pub(crate) verb: &'static str,
    pub(crate) waits: &'static str,
}

impl Operation for Await<'_> {
    fn is_enabled(&self, _rt: &Runtime, _me: usize) -> bool {
        (self.ready)()
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        let writes = (self.ready)() && (self.writes)();
        effect.footprint.add(self.object, if writes { Mode::Update } else { Mode::Read });
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("{} {}", self.verb, rt.object_name(self.object))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        Some((format!("waits for {} {}", rt.object_name(self.object), self.waits), Vec::new()))
    }
}

/// The end of a thread that was spawned.
pub(crate) struct End;

impl Operation for End {
    fn waits(&self) -> Waits {
        Waits::Never
    }

    fn effect(&self, rt: &mut Runtime, me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(rt.threads[me].life, Mode::End);
    }

    fn text(&self, _rt: &Runtime, _me: usize) -> String {
        "end".to_owned()
    }
}

/// Where a thread stands that runs, or failed before it came to an operation.
pub(crate) struct Running;

impl Running {
    /// It has no content, so one is enough.
    pub(crate) const ONE: *const dyn Operation = &Self;
}

impl Operation for Running {
    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, _effect: &mut Effect) {}

    fn text(&self, _rt: &Runtime, _me: usize) -> String {
        "start".to_owned()
    }
}
