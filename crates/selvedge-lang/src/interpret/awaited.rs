//! What decides whether an atomic section that may wait can run.
//!
//! Which variables such a section has read when it is found to be blocked depends on their values:
//! `await x == 0 && y == 0` looks at `y` only if `x` is 0. An explorer that moves the section to
//! another place must know everything that could keep it waiting there. So all that the section may
//! read is part of its footprint, read or not; and all that may make it fault before it comes to wait, since
//! a section that faults does not wait: whether a thread that it sends to has ended, and the count of a
//! semaphore that may overflow.

use selvedge_core::{Access, Footprint, Mode, ObjectId};

use crate::ir::{AtomicKind, Global, Label, ObjectRef, Op, Operand, Procedure, Program, Thread};

/// For each atomic section that may wait: where its code starts, and what it may look at. Sections
/// that always read the same one thing are left out.
pub(crate) fn sections(
    program: &Program,
    awaits: &dyn Fn(usize) -> bool,
    may_overflow: &dyn Fn(&Global) -> bool,
) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut first = 0;
    for procedure in &program.procedures {
        for at in 0..procedure.code.len() {
            if awaits(first + at) {
                let reads = reads_of_section(program, procedure, at);
                if !reads.are_always_the_same_one() {
                    let counts = reads
                        .raised
                        .iter()
                        .filter(|place| may_overflow(&program.globals[place.global.index()]));
                    let places: Vec<_> = reads.places.iter().chain(counts).copied().collect();
                    let objects = objects(program, &places);
                    let pc = (first + at) as u32;
                    let ghosts = self::objects(program, &reads.ghosts);
                    sections.push(Section { pc, objects, ghosts, receivers: reads.receivers });
                }
            }
        }
        first += procedure.code.len();
    }
    sections
}

/// An atomic section that may wait.
pub(crate) struct Section {
    /// Where its code starts.
    pub(crate) pc: u32,
    /// All that it may read, and the semaphores whose count it may make overflow.
    pub(crate) objects: Vec<ObjectId>,
    /// The ghosts that it may read.
    pub(crate) ghosts: Vec<ObjectId>,
    /// The threads that it may send to.
    pub(crate) receivers: Receivers,
}

/// Threads that a section may send to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Receivers {
    /// These.
    Known(Vec<usize>),
    /// The handle is computed: any.
    Any,
}

impl Receivers {
    /// Adds the thread with this handle.
    pub(crate) fn add(&mut self, handle: Operand) {
        match (handle, self) {
            (Operand::Constant(thread), Receivers::Known(known)) => known.push(thread as usize),
            (Operand::Constant(_), Receivers::Any) => {}
            (Operand::Slot(_), receivers) => *receivers = Receivers::Any,
        }
    }
}

/// Adds reads of all `objects`, which are ascending. In time that grows with their number: an array
/// may have a million elements.
pub(crate) fn add_reads(objects: &[ObjectId], footprint: &mut Footprint) {
    let mut all = footprint.accesses().to_vec();
    let mut own: Vec<_> = all.iter().map(|access| access.object).collect();
    own.sort_unstable();
    for access in &mut all {
        if access.mode != Mode::Read && objects.binary_search(&access.object).is_ok() {
            access.mode = Mode::Update;
        }
    }
    let others = objects.iter().filter(|object| own.binary_search(object).is_err());
    all.extend(others.map(|&object| Access { object, mode: Mode::Read }));
    *footprint = Footprint::of_event(&all);
}

/// What a section, and what it calls, may look at.
pub(crate) struct Reads {
    /// The instructions that read name these.
    pub(crate) places: Vec<ObjectRef>,
    /// Whether one of them may run more than once, each time with another index: it is in a loop,
    /// or in a routine that is called.
    repeated: bool,
    /// Whether the section may fault because of something shared before it comes to read. Then it
    /// does not wait, whatever the variables are.
    pub(crate) may_fault_before: bool,
    pub(crate) receivers: Receivers,
    /// Semaphores whose count it may raise.
    pub(crate) raised: Vec<ObjectRef>,
    /// Ghosts that it may read.
    pub(crate) ghosts: Vec<ObjectRef>,
}

impl Reads {
    fn are_always_the_same_one(&self) -> bool {
        match self.places[..] {
            _ if !self.ghosts.is_empty() => false,
            [] => true,
            [place] => {
                let moves = self.repeated && matches!(place.index, Operand::Slot(_));
                !moves && !self.may_fault_before
            }
            _ => false,
        }
    }

    fn note(&mut self, op: &Op) {
        if let Some(op) = op.operation() {
            op.decides(self);
        }
    }
}

fn reads_of_section(program: &Program, procedure: &Procedure, begin: usize) -> Reads {
    let mut reads = Reads {
        places: Vec::new(),
        repeated: false,
        may_fault_before: false,
        receivers: Receivers::Known(Vec::new()),
        raised: Vec::new(),
        ghosts: Vec::new(),
    };
    let mut called = Vec::new();
    let begin = Label::new(begin);
    for at in before_waiting(program, procedure, begin) {
        let op = &procedure.code[at.index()].op;
        let before = reads.places.len();
        reads.note(op);
        if reads.places.len() > before {
            reads.repeated |= procedure.rest_of_section(program, begin, at).contains(&at);
        }
        called.extend(op.called());
    }
    for callee in program.called_from(called) {
        let code = &program.procedures[callee.index()].code;
        code.iter().for_each(|instruction| reads.note(&instruction.op));
        reads.repeated = true;
    }
    reads
}

/// Returns the instructions of a section that may come before it waits. A part of a task waits at its beginning or never, and what
/// follows may be long and name whole arrays: that is left out.
fn before_waiting(program: &Program, procedure: &Procedure, begin: Label) -> Vec<Label> {
    let mut rest = procedure.rest_of_section(program, begin, begin);
    let Op::AtomicBegin { atomic } = procedure.code[begin.index()].op else { return rest };
    if program.atomics[atomic.index()].kind == AtomicKind::Task {
        let awaits = |at: &Label| {
            let op = &procedure.code[at.index()].op;
            matches!(op, Op::Await { .. } | Op::Thread(Thread::Await { .. }))
        };
        rest.retain(|at| {
            awaits(at) || procedure.rest_of_section(program, begin, *at).iter().any(awaits)
        });
    }
    rest
}

/// Returns the objects that the references denote; all elements where the index is not a constant.
fn objects(program: &Program, references: &[ObjectRef]) -> Vec<ObjectId> {
    let mut objects = Vec::new();
    for reference in references {
        let global = &program.globals[reference.global.index()];
        let base = global.base as usize;
        match reference.index {
            Operand::Constant(index) => objects.push(ObjectId::new(base + index as usize)),
            Operand::Slot(_) => objects.extend((base..base + global.elements()).map(ObjectId::new)),
        }
    }
    objects.sort_unstable();
    objects.dedup();
    objects
}
