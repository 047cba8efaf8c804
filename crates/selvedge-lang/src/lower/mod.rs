//! Checked tree to intermediate representation.
//!
//! Local variable *n* of a body is slot *n* of its procedure; temporaries follow. Shared accesses
//! are emitted in the order of evaluation, left to right: that is the order of the steps.

mod actors;
mod arrays;
mod assertions;
mod code;
mod conditions;
mod expressions;
mod objects;
mod operations;
mod promises;
mod sites;
mod statements;

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ir::{
    Atomic, AtomicId, AtomicKind, Condition, ConditionArgument, GlobalKind, Independence,
    Invariant, Op, Procedure, ProcedureId, Program, Slot, StaticThread, Type,
};
use crate::span::Span;
use crate::tree::resolved::{self as tree, SectionId, SectionLocal};
use code::{Code, Scope};
use sites::Sites;

/// A procedure has at most so many slots. Beyond: an error.
const MAX_SLOTS: usize = 65_535;

/// Returns the program in its intermediate representation.
pub(crate) fn lower(
    tree: &tree::Program,
    name: &str,
    text: &str,
    diagnostics: &mut Diagnostics,
) -> Program {
    let mut lowerer = Lowerer::new(tree, text, diagnostics);
    lowerer.declare();
    for (i, routine) in tree.routines.iter().enumerate() {
        lowerer.routine(ProcedureId::new(i), routine);
    }
    for (i, group) in tree.threads.iter().enumerate() {
        let id = ProcedureId::new(tree.routines.len() + i);
        let params = usize::from(group.replicas.is_some());
        lowerer.body(id, &group.name, params, None, &group.body);
    }
    if let Some(body) = &tree.finally {
        let id = ProcedureId::new(tree.routines.len() + tree.threads.len());
        lowerer.program.finally = Some(id);
        lowerer.body(id, "finally", 0, None, body);
    }
    let finally = usize::from(tree.finally.is_some());
    let first = tree.routines.len() + tree.threads.len() + finally;
    for (i, body) in tree.invariants.iter().enumerate() {
        let id = ProcedureId::new(first + i);
        // As it is written, on one line.
        let words: Vec<&str> = body.block.span.of(text).split_whitespace().collect();
        let name = words.join(" ").trim_end_matches(';').to_owned();
        let object = lowerer.program.add_global(name, Vec::new(), GlobalKind::Invariant);
        lowerer.program.invariants.push(Invariant { procedure: id, object });
        lowerer.body(id, "always", 0, None, body);
    }
    promises::lower(&mut lowerer, first + tree.invariants.len());
    tree.independence.iter().for_each(|constraint| lowerer.constraint(constraint));
    lowerer.finish(name)
}

struct Lowerer<'t> {
    tree: &'t tree::Program,
    program: Program,
    /// `None` until it has been lowered.
    procedures: Vec<Option<Procedure>>,
    /// For each declaration of threads, the number of its first thread.
    first_threads: Vec<usize>,
    /// Where named sections and atomic procedures ended up; not those that are never reached.
    sections: BTreeMap<SectionId, AtomicId>,
    sites: Sites<'t>,
    /// The procedure that is being lowered.
    current: ProcedureId,
    code: Code,
    diagnostics: &'t mut Diagnostics,
}

impl<'t> Lowerer<'t> {
    fn new(tree: &'t tree::Program, text: &'t str, diagnostics: &'t mut Diagnostics) -> Self {
        Self {
            tree,
            program: Program::default(),
            procedures: Vec::new(),
            first_threads: Vec::new(),
            sections: BTreeMap::new(),
            sites: Sites::new(text),
            current: ProcedureId::new(0),
            code: Code::default(),
            diagnostics,
        }
    }

    /// Shared objects, threads, and the numbers of all procedures of the source.
    fn declare(&mut self) {
        self.program.enums = self.tree.enums.clone();
        self.program.tables = self.tree.tables.clone();
        for object in &self.tree.objects {
            let kind = object.kind.clone();
            let id = self.program.add_global(object.name.clone(), object.sizes.clone(), kind);
            self.program.globals[id.index()].own_dims = object.own_dims;
        }
        for (i, group) in self.tree.threads.iter().enumerate() {
            self.first_threads.push(self.program.threads.len());
            let procedure = ProcedureId::new(self.tree.routines.len() + i);
            let (low, count) = group.replicas.unwrap_or((0, 1));
            for index in (low..=i32::MAX).take(count as usize) {
                let index = group.replicas.map(|_| index);
                self.program.threads.push(StaticThread {
                    name: group.name.clone(),
                    index,
                    procedure,
                    arguments: index.into_iter().collect(),
                    daemon: group.daemon,
                });
            }
        }
        let bodies = self.tree.routines.len() + self.tree.threads.len();
        let finally = usize::from(self.tree.finally.is_some());
        let looks = finally + self.tree.invariants.len() + promises::bodies(self.tree);
        self.procedures.resize_with(bodies + looks, || None);
    }

    fn routine(&mut self, id: ProcedureId, routine: &tree::Routine) {
        if !routine.atomic {
            self.body(id, &routine.name, routine.params, routine.result, &routine.body);
            return self.of_indexed_actor(id, routine);
        }
        self.start(id, &routine.body);
        let kind = if routine.task { AtomicKind::Task } else { AtomicKind::Procedure };
        let name = routine.section.map(|_| routine.name.clone());
        let atomic = self.add_atomic(name, kind);
        routine.section.map(|section| self.sections.insert(section, atomic));
        let site = self.sites.plain(routine.span);
        self.code.emit(Op::AtomicBegin { atomic }, site);
        self.code.scopes.push(Scope::Atomic { atomic });
        self.code.waits_first = routine.task && Self::waits_first(&routine.body.block);
        self.statements(&routine.body.block.statements);
        self.code.scopes.pop();
        let site = self.sites.plain(closing_brace(routine.body.block.span));
        self.code.emit(Op::AtomicEnd { atomic }, site);
        let (name, params) = (&routine.name, routine.params);
        self.end(id, name, params, routine.result, Some(atomic), &routine.body);
        self.of_indexed_actor(id, routine);
    }

    fn of_indexed_actor(&mut self, id: ProcedureId, routine: &tree::Routine) {
        if let Some(procedure) = &mut self.procedures[id.index()] {
            procedure.of_indexed_actor = routine.of_indexed_actor;
            procedure.watches = routine.watches;
        }
    }

    fn body(
        &mut self,
        id: ProcedureId,
        name: &str,
        params: usize,
        result: Option<Type>,
        body: &tree::Body,
    ) {
        self.start(id, body);
        self.statements(&body.block.statements);
        self.end(id, name, params, result, None, body);
    }

    fn start(&mut self, id: ProcedureId, body: &tree::Body) {
        self.current = id;
        self.code = Code::new(&body.locals);
        self.code.one_look = self.program.finally == Some(id)
            || self.program.invariants.iter().any(|it| it.procedure == id)
            || self.program.promises.iter().any(|it| it.procedures().any(|look| look == id));
    }

    fn end(
        &mut self,
        id: ProcedureId,
        name: &str,
        params: usize,
        result: Option<Type>,
        atomic: Option<AtomicId>,
        body: &tree::Body,
    ) {
        // A function does not get here: the checker wants a `return` on every path.
        let site = self.sites.plain(closing_brace(body.block.span));
        self.code.emit(Op::Return { value: None }, site);
        let code = std::mem::take(&mut self.code);
        self.check_slots(&code, name, body.block.span);
        self.procedures[id.index()] = Some(code.finish(name, params, result, atomic));
    }

    fn check_slots(&mut self, code: &Code, name: &str, span: Span) {
        if code.slots.len() > MAX_SLOTS {
            let message = format!("`{name}` has more than {MAX_SLOTS} variables and temporaries");
            let help = "split it into procedures";
            self.diagnostics.add(Diagnostic::error(span, message).help(help));
        }
    }

    fn add_atomic(&mut self, name: Option<String>, kind: AtomicKind) -> AtomicId {
        let procedure = self.current;
        let atomic = Atomic { name, number: None, kind, procedure, continues: None };
        self.program.atomics.push(atomic);
        AtomicId::new(self.program.atomics.len() - 1)
    }

    fn constraint(&mut self, constraint: &tree::Independence) {
        let sections = (&constraint.first, &constraint.second);
        let (first, second) = (self.sections.get(sections.0), self.sections.get(sections.1));
        // A section that is never reached is independent of everything.
        let (Some(&first), Some(&second)) = (first, second) else { return };
        let condition = constraint.condition.as_ref().map(|condition| {
            let used = conditions::locals_in(&condition.value);
            let arguments = used.iter().map(|local| match condition.locals[local.0].1 {
                SectionLocal::First(local) => ConditionArgument::First(Slot::new(local.0)),
                SectionLocal::Second(local) => ConditionArgument::Second(Slot::new(local.0)),
            });
            let arguments = arguments.collect();
            let locals = used.iter().map(|&local| (local, condition.locals[local.0].0.clone()));
            let procedure =
                self.expression_procedure("independent", locals.collect(), &condition.value);
            Condition { procedure, arguments }
        });
        let site = self.sites.plain(constraint.span);
        self.program.independence.push(Independence { first, second, condition, site });
    }

    fn finish(mut self, name: &str) -> Program {
        self.program.source_name = name.to_owned();
        self.program.sites = self.sites.finish();
        self.program.procedures = self.procedures.into_iter().flatten().collect();
        self.program
    }
}

fn closing_brace(block: Span) -> Span {
    Span { start: block.end.saturating_sub(1), end: block.end }
}
