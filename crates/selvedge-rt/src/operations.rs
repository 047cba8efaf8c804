//! Visible operations that many types have in common.

use selvedge_core::{Effect, Flexibility, Mode, ObjectId, Order};

use crate::operation::{Operation, Subject, Waits};
use crate::runtime::Runtime;
use crate::world::World;

/// Reads or writes one object, always in the same way.
pub struct Touch {
    /// What it touches.
    pub object: ObjectId,
    /// How.
    pub mode: Mode,
    /// What it is called.
    pub verb: &'static str,
    /// The memory ordering that the code asks for. `None`: all that depend on it are ordered with it.
    pub order: Option<Order>,
}

impl<W: World> Operation<Runtime<W>> for Touch {
    #[inline]
    fn is_subject_to(&self) -> Subject {
        Subject::Nothing
    }

    #[inline]
    fn effect(&self, _rt: &mut Runtime<W>, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.object, self.mode);
        effect.order = self.order;
    }

    fn text(&self, rt: &Runtime<W>, _me: usize) -> String {
        format!("{} {}{}", self.verb, rt.object_name(self.object), ordering(self.order))
    }
}

/// A memory ordering as a remark, if it is worth one.
pub fn ordering(order: Option<Order>) -> String {
    match order {
        None | Some(Order::SeqCst | Order::NonAtomic) => String::new(),
        Some(order) => format!(" ({order})"),
    }
}

/// A fence: it accesses nothing, and orders what its thread does around it.
pub struct Fence {
    /// The memory ordering that the code asks for.
    pub order: Order,
}

impl<W: World> Operation<Runtime<W>> for Fence {
    #[inline]
    fn is_subject_to(&self) -> Subject {
        Subject::Nothing
    }

    #[inline]
    fn effect(&self, _rt: &mut Runtime<W>, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.order = Some(self.order);
    }

    fn text(&self, _rt: &Runtime<W>, _me: usize) -> String {
        format!("fence ({})", self.order)
    }
}

/// Writes the object if a condition on its value holds now, and else reads it.
pub struct Compare<'a> {
    /// What it touches.
    pub object: ObjectId,
    /// Whether it writes now.
    pub writes: &'a dyn Fn() -> bool,
    /// What it is called.
    pub verb: &'static str,
    /// The memory ordering that the code asks for if it writes. `None`: all that depend on it are ordered with it.
    pub order: Option<Order>,
    /// And if it only reads.
    pub failure: Option<Order>,
}

impl<W: World> Operation<Runtime<W>> for Compare<'_> {
    #[inline]
    fn is_subject_to(&self) -> Subject {
        Subject::Nothing
    }

    #[inline]
    fn effect(&self, _rt: &mut Runtime<W>, _me: usize, _choice: u32, effect: &mut Effect) {
        let (mode, order) = match (self.writes)() {
            true => (Mode::Update, self.order),
            false => (Mode::Read, self.failure),
        };
        effect.footprint.add(self.object, mode);
        effect.order = order;
        effect.flexibility = Flexibility::Conditional;
    }

    fn text(&self, rt: &Runtime<W>, _me: usize) -> String {
        format!("{} {}{}", self.verb, rt.object_name(self.object), ordering(self.order))
    }
}

/// Waits until a condition on one object holds; then reads or writes it.
pub struct Await<'a> {
    /// What it touches.
    pub object: ObjectId,
    /// Whether it can run now.
    pub ready: &'a dyn Fn() -> bool,
    /// Whether it writes now.
    pub writes: &'a dyn Fn() -> bool,
    /// What it is called.
    pub verb: &'static str,
    /// What it waits for, as the end of a sentence.
    pub waits: &'static str,
}

impl<W: World> Operation<Runtime<W>> for Await<'_> {
    fn is_enabled(&self, _rt: &Runtime<W>, _me: usize) -> bool {
        (self.ready)()
    }

    fn effect(&self, _rt: &mut Runtime<W>, _me: usize, _choice: u32, effect: &mut Effect) {
        let writes = (self.ready)() && (self.writes)();
        effect.footprint.add(self.object, if writes { Mode::Update } else { Mode::Read });
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, rt: &Runtime<W>, _me: usize) -> String {
        format!("{} {}", self.verb, rt.object_name(self.object))
    }

    fn waits_for(&self, rt: &Runtime<W>, _me: usize) -> Option<(String, Vec<usize>)> {
        Some((format!("waits for {} {}", rt.object_name(self.object), self.waits), Vec::new()))
    }
}

/// The end of a thread that was spawned.
pub(crate) struct End;

impl<W: World> Operation<Runtime<W>> for End {
    fn waits(&self) -> Waits {
        Waits::Never
    }

    fn effect(&self, rt: &mut Runtime<W>, me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(rt.known[me].life, Mode::End);
    }

    fn text(&self, _rt: &Runtime<W>, _me: usize) -> String {
        "end".to_owned()
    }
}

/// Waits until something that the thread read has changed.
pub(crate) struct Spin {
    pub(crate) verb: &'static str,
}

impl<W: World> Operation<Runtime<W>> for Spin {
    fn is_enabled(&self, rt: &Runtime<W>, me: usize) -> bool {
        rt.now.spins.is_woken(me, &rt.shared.learned.loops.borrow())
    }

    fn effect(&self, rt: &mut Runtime<W>, me: usize, _choice: u32, effect: &mut Effect) {
        for (object, look) in rt.now.spins.looks_at(me) {
            effect.footprint.add(object, look);
        }
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, _rt: &Runtime<W>, _me: usize) -> String {
        self.verb.to_owned()
    }

    fn waits_for(&self, rt: &Runtime<W>, me: usize) -> Option<(String, Vec<usize>)> {
        let seen = rt.now.spins.looks_at(me);
        let names: Vec<_> = seen.map(|(object, _)| rt.object_name(object)).collect();
        Some((format!("spins, and waits for a change of {}", names.join(", ")), Vec::new()))
    }
}
