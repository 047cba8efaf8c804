//! A program prepared for running: all code in one list, addresses resolved.

use std::sync::Arc;

use crate::ir::{
    Global, GlobalId, GlobalKind, Instruction, Label, ObjectRef, Op, Operand, ProcedureId, Program,
    SiteId, Thread,
};
use crate::ops::Relabel;

use super::awaited::{self, Section};
use super::foresight::{self, Foresight};
use super::ghosts::Ghosts;
use super::invariants;

/// What never changes while the program runs.
pub(crate) struct Loaded {
    pub(crate) program: Arc<Program>,
    /// The code of all procedures, one after the other; labels count from the start of it all.
    pub(crate) code: Vec<Instruction>,
    pub(crate) procedures: Vec<Entry>,
    /// Where each global's objects and contents are.
    pub(crate) globals: Vec<Address>,
    /// What is known beforehand about each instruction.
    pub(crate) foresight: Vec<Foresight>,
    /// The atomic sections that may wait for several things, in the order of the code.
    pub(crate) sections: Vec<Section>,
    /// How many objects globals have; the cell after them counts the threads of the execution.
    pub(crate) global_objects: u32,
    pub(crate) observes_ends: bool,
    /// For each object of a global, the invariants that read it, by their numbers. Empty if there is no invariant.
    pub(crate) read_by: Vec<Vec<usize>>,
    /// What is known of ghosts.
    pub(crate) ghosts: Ghosts,
    /// Whether threads are spawned.
    pub(crate) spawns: bool,
    /// The size of the frame of the procedure, for each instruction.
    pub(crate) frames: Vec<u32>,
    /// Whether threads send messages or look for them.
    pub(crate) has_messages: bool,
    /// Whether what threads return is asked for.
    pub(crate) has_results: bool,
    /// The cells of generations of barriers, ascending.
    pub(crate) generations: Vec<u32>,
    /// How many lists, maps, reader-writer locks and condition variables there are.
    pub(crate) contents: Contents,
}

/// Where a procedure starts, and how many slots its frame has.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) pc: u32,
    pub(crate) frame: u32,
}

/// Where a global's elements are.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    /// Number of its first object, and of its first cell.
    pub(crate) base: u32,
    /// Index of its first list, map, set of readers or of waiters, by kind.
    pub(crate) content: u32,
    /// For a barrier: whether more threads may use it than it has parties.
    pub(crate) crowded: bool,
    /// For a semaphore: whether its count may come to the largest number. Then it matters which thread raises
    /// it last.
    pub(crate) may_overflow: bool,
    /// Whether reads and writes of it can be part of a data race.
    pub(crate) plain: bool,
}

/// No execution raises a semaphore so often that it overflows from here: each time is a step, and an execution
/// of 2^30 steps does not fit the memory.
const FAR_FROM_OVERFLOW: i32 = i32::MAX / 2;

/// Numbers of things that do not fit a cell.
#[derive(Clone, Copy, Default)]
pub(crate) struct Contents {
    pub(crate) lists: u32,
    pub(crate) maps: u32,
    pub(crate) rwlocks: u32,
    pub(crate) conds: u32,
}

impl Loaded {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        let mut code = Vec::new();
        let mut procedures = Vec::with_capacity(program.procedures.len());
        for procedure in &program.procedures {
            let pc = u32::try_from(code.len()).expect("internal error: too much code");
            let frame = u32::try_from(procedure.slots.len()).expect("internal error: huge frame");
            procedures.push(Entry { pc, frame });
            code.extend(procedure.code.iter().map(|instruction| Instruction {
                op: instruction.op.map(&mut Relabel(|label: Label| Label(label.0 + pc))),
                site: instruction.site,
            }));
        }
        let mut contents = Contents::default();
        let globals = program
            .globals
            .iter()
            .map(|global| {
                let elements = global.elements() as u32;
                let mut none = 0;
                let count = match global.kind {
                    GlobalKind::List { .. } | GlobalKind::Channel { .. } => &mut contents.lists,
                    GlobalKind::Map { .. } => &mut contents.maps,
                    GlobalKind::RwLock => &mut contents.rwlocks,
                    GlobalKind::Cond => &mut contents.conds,
                    _ => &mut none,
                };
                let content = *count;
                *count += elements;
                let plain = matches!(
                    global.kind,
                    GlobalKind::Variable { atomic: false, .. }
                        | GlobalKind::List { .. }
                        | GlobalKind::Map { .. }
                );
                let may_overflow = may_overflow(global);
                Address { base: global.base, content, crowded: false, may_overflow, plain }
            })
            .collect();
        let ghosts = Ghosts::of(&program);
        let foresight = foresight::compute(&program, &ghosts);
        let sections = awaited::sections(&program, &|pc| foresight[pc].may_await, &may_overflow);
        let mut loaded = Self {
            global_objects: program.global_objects() as u32,
            observes_ends: program.observes_ends(),
            read_by: Vec::new(),
            spawns: code
                .iter()
                .any(|it: &Instruction| matches!(it.op, Op::Thread(Thread::Spawn { .. }))),
            frames: program
                .procedures
                .iter()
                .flat_map(|it| std::iter::repeat_n(it.slots.len() as u32, it.code.len()))
                .collect(),
            has_messages: code.iter().any(|it: &Instruction| matches!(it.op, Op::Message(_))),
            has_results: code.iter().any(|it: &Instruction| {
                matches!(it.op, Op::Thread(Thread::Await { target: Some(_), .. }))
            }),
            generations: generations(&program),
            ghosts,
            foresight,
            sections,
            program,
            code,
            procedures,
            globals,
            contents,
        };
        for id in foresight::crowded_barriers(&loaded.program) {
            loaded.globals[id.index()].crowded = true;
        }
        loaded.read_by = invariants::read_by(&loaded);
        for pc in 0..loaded.code.len() {
            // Its check may fail, which ends the thread.
            if loaded.may_check(pc as u32) {
                let foresight = &mut loaded.foresight[pc];
                foresight.may_end = true;
            }
        }
        loaded
    }

    /// What decides whether the atomic section at `pc` can run, if that is more than it reads.
    pub(crate) fn awaited(&self, pc: u32) -> Option<&Section> {
        let found = self.sections.binary_search_by_key(&pc, |section| section.pc);
        found.ok().map(|index| &self.sections[index])
    }

    #[inline]
    pub(crate) fn op(&self, pc: u32) -> &Op {
        &self.code[pc as usize].op
    }

    pub(crate) fn site(&self, pc: u32) -> SiteId {
        self.code[pc as usize].site
    }

    pub(crate) fn procedure_at(&self, pc: u32) -> ProcedureId {
        ProcedureId::new(self.procedures.partition_point(|entry| entry.pc <= pc) - 1)
    }

    pub(crate) fn static_threads(&self) -> usize {
        self.program.threads.len()
    }

    pub(crate) fn parties(&self, global: GlobalId, element: usize) -> i32 {
        match &self.program.globals[global.index()].kind {
            // The verifier keeps the number of parties within i32.
            GlobalKind::Barrier { parties } => parties[element] as i32,
            _ => 1,
        }
    }

    /// Returns the cell of an element, whose number is also that of its object. Not for barriers.
    #[inline]
    pub(crate) fn cell(&self, object: ObjectRef, element: u32) -> usize {
        (self.globals[object.global.index()].base + element) as usize
    }

    /// Returns the index of an element's list, map, readers or waiters.
    pub(crate) fn content(&self, object: ObjectRef, element: u32) -> usize {
        (self.globals[object.global.index()].content + element) as usize
    }

    /// Returns the name of an element as the user would write it.
    pub(crate) fn name(&self, object: ObjectRef, element: usize) -> String {
        self.program.globals[object.global.index()].element_name(element)
    }
}

/// Returns the value of an operand in the frame that starts at `base`.
#[inline]
pub(crate) fn value(operand: Operand, stack: &[i32], base: u32) -> i32 {
    match operand {
        Operand::Slot(slot) => stack[(base + slot.0) as usize],
        Operand::Constant(value) => value,
    }
}

/// Returns the cells that hold generations: the second of each barrier.
fn generations(program: &Program) -> Vec<u32> {
    let barriers =
        program.globals.iter().filter(|it| matches!(it.kind, GlobalKind::Barrier { .. }));
    barriers.flat_map(|it| (0..it.elements() as u32).map(|at| it.base + 2 * at + 1)).collect()
}

/// Whether the count of a semaphore can come to its end: `up` is then a step that may fail.
fn may_overflow(global: &Global) -> bool {
    matches!(
        &global.kind,
        GlobalKind::Semaphore { initial } if initial.iter().any(|&count| count > FAR_FROM_OVERFLOW)
    )
}
