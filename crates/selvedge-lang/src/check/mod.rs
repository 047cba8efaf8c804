//! Names, types, constants, and what may stand where.
//!
//! The phases, each over the whole file: names of items ([`names`]); constants and sizes of
//! arrays, in the order of their dependence ([`constants`]); initial values ([`objects`]); bodies
//! ([`body`] and the files beside it); what called routines do ([`effects`]); independence
//! constraints ([`independence`]). Every phase continues after errors.

mod actors;
mod arrays;
mod atomics;
mod body;
mod builtins;
mod constants;
mod effects;
mod expressions;
mod ghosts;
mod independence;
mod messages;
mod monitors;
mod names;
mod objects;
mod passed;
mod places;
mod semaphores;
mod statements;

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ir::{Enum, ProcedureId, Table, Type};
use crate::span::Span;
use crate::tree::resolved::{self as tree, LocalId, SectionId};
use crate::tree::written as ast;
use body::{BodyChecker, Region};
use effects::Effects;
use ghosts::Flows;

pub(crate) use builtins::NAMES as BUILT_IN;
pub(crate) use constants::Value;
pub(crate) use statements::MAX_SECTION_LOCALS;

/// How many shared objects there may be, all elements counted. Beyond: an error.
pub(crate) const MAX_ELEMENTS: usize = 1_000_000;
/// How many threads may start at the beginning. Beyond: an error.
pub(crate) const MAX_THREADS: usize = 4_096;

/// Values for constants, given from outside.
pub(crate) type Overrides = [(String, i64)];

/// Returns the checked program; `None` if there are errors.
pub(crate) fn check(
    file: &ast::File,
    overrides: &Overrides,
    diagnostics: &mut Diagnostics,
) -> Option<tree::Program> {
    let mut checker = Checker::new(file, diagnostics);
    checker.declare_items();
    checker.evaluate_constants(overrides);
    checker.count_actors();
    checker.check_results();
    let mut objects = checker.objects();
    checker.thread_groups();
    let mut routines = checker.routines();
    let threads = checker.thread_bodies();
    let finally = checker.finally();
    let invariants = checker.invariants();
    let promises = checker.promises();
    checker.check_calls();
    let independence = checker.independence();
    checker.make_instances(&mut routines);
    let mark = checker.mark;
    checker.ghosts_that_matter(&mut objects);
    checker.warn_unused();
    (!checker.diagnostics.has_errors()).then_some(tree::Program {
        tables: checker.tables.into_iter().filter_map(|info| info.table).collect(),
        enums: checker.enums,
        objects,
        routines,
        threads,
        finally,
        invariants,
        promises,
        mark,
        independence,
    })
}

/// Returns the constants of a file that can be computed, in the order of their declaration.
pub(crate) fn constant_values(file: &ast::File, overrides: &Overrides) -> Vec<(String, Value)> {
    let mut diagnostics = Diagnostics::default();
    let mut checker = Checker::new(file, &mut diagnostics);
    checker.declare_items();
    checker.evaluate_constants(overrides);
    let known = checker.constants.iter();
    known.filter_map(|constant| Some((constant.decl.name.text.clone(), constant.value?))).collect()
}

/// What is known about a declaration besides its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    /// Where the name is declared.
    pub(crate) span: Span,
    pub(crate) ty: Option<Type>,
    /// Of a constant.
    pub(crate) value: Option<i32>,
    /// Of an array.
    pub(crate) sizes: Vec<u32>,
    /// How many threads it starts.
    pub(crate) threads: Option<u32>,
}

/// Returns what is known about the declarations of a file, with errors or without.
pub(crate) fn known(file: &ast::File) -> Vec<Known> {
    let mut diagnostics = Diagnostics::default();
    let mut checker = Checker::new(file, &mut diagnostics);
    checker.declare_items();
    checker.evaluate_constants(&[]);
    checker.count_actors();
    checker.objects();
    checker.thread_groups();
    checker.routines();
    checker.thread_bodies();
    checker.finally();
    let plain = |span, ty| Known { span, ty, value: None, sizes: Vec::new(), threads: None };
    let constants = checker.constants.iter().map(|info| {
        let ty = info.value.map(|value| value.ty);
        Known { value: info.value.map(|value| value.value), ..plain(info.decl.name.span, ty) }
    });
    let tables = checker.tables.iter().map(|info| {
        let sizes = info.table.iter().map(|table| table.values.len() as u32).collect();
        let ty = info.table.as_ref().map(|table| table.ty);
        Known { sizes, ..plain(info.decl.name.span, ty) }
    });
    let members = checker.names.values().filter_map(|entry| match entry.meaning {
        Meaning::Member(value) => Some(plain(entry.span, Some(value.ty))),
        _ => None,
    });
    // The variables of a record are one symbol.
    let is_record = |decl: &ast::ObjectDecl| decl.member.is_none() && decl.name.text.contains('.');
    let objects = checker.objects.iter().filter(|info| !is_record(info.decl));
    let objects = objects.map(|info| {
        let is_variable = matches!(
            info.decl.kind,
            ast::ObjectKind::Shared { .. } | ast::ObjectKind::Ghost { .. }
        );
        let ty = is_variable.then_some(info.ty);
        let sizes = info.sizes.clone().unwrap_or_default();
        Known { sizes, ..plain(info.decl.name.span, ty) }
    });
    let routines = checker.routines.iter();
    let routines = routines.map(|info| plain(info.decl.name.span, info.decl.result));
    let threads = checker.threads.iter().map(|info| {
        let threads = match info.decl.replicas {
            Some(_) => info.replicas.map(|(_, count)| count),
            None => Some(1),
        };
        Known { threads, ..plain(info.decl.name.span, None) }
    });
    let locals = checker.local_types.iter().map(|&(span, ty, size)| Known {
        sizes: size.into_iter().collect(),
        ..plain(span, Some(ty))
    });
    constants
        .chain(tables)
        .chain(members)
        .chain(objects)
        .chain(routines)
        .chain(threads)
        .chain(locals)
        .collect()
}

/// What is known about the file so far.
struct Checker<'c> {
    file: &'c ast::File,
    diagnostics: &'c mut Diagnostics,
    /// Every global name.
    names: BTreeMap<String, Entry>,
    /// By the numbers of their types.
    enums: Vec<Enum>,
    constants: Vec<ConstantInfo<'c>>,
    tables: Vec<TableInfo<'c>>,
    objects: Vec<ObjectInfo<'c>>,
    routines: Vec<RoutineInfo<'c>>,
    threads: Vec<ThreadInfo<'c>>,
    actors: Vec<actors::ActorInfo<'c>>,
    sections: Vec<SectionInfo>,
    /// The blocks without a name, in the order of the text.
    unnamed: Vec<SectionId>,
    effects: Effects,
    passed: passed::Passed,
    ghosts: Flows,
    /// Unknown names that were reported: once is enough.
    reported: BTreeSet<String>,
    /// Where locals of finished bodies are declared, and their types.
    local_types: Vec<(Span, Type, Option<u32>)>,
    /// The first mark of progress.
    mark: Option<Span>,
}

/// What a global name stands for, and where it is declared.
#[derive(Clone, Copy)]
struct Entry {
    meaning: Meaning,
    span: Span,
}

/// Indices into the tables of [`Checker`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Enum,
    Record,
    Actor(usize),
    /// A value of an enumeration.
    Member(Value),
    Constant(usize),
    Table(usize),
    Object(usize),
    Routine(usize),
    Thread(usize),
    Section(SectionId),
}

struct ConstantInfo<'c> {
    decl: &'c ast::ConstDecl,
    /// `None` if it cannot be computed; that has been reported.
    value: Option<Value>,
}

/// A constant array.
struct TableInfo<'c> {
    decl: &'c ast::TableDecl,
    /// `None` if it cannot be computed; that has been reported.
    table: Option<Table>,
}

struct ObjectInfo<'c> {
    decl: &'c ast::ObjectDecl,
    /// `None` if they cannot be computed; that has been reported.
    sizes: Option<Vec<u32>>,
    /// The type of a variable; integers if it is unknown.
    ty: Type,
    used: bool,
}

struct RoutineInfo<'c> {
    decl: &'c ast::Routine,
    /// If it is atomic.
    section: Option<SectionId>,
    used: bool,
}

struct ThreadInfo<'c> {
    decl: &'c ast::ThreadDecl,
    replicas: Option<(i32, u32)>,
}

/// An atomic procedure or named atomic block, as independence constraints see it.
struct SectionInfo {
    /// The procedure that it is; `None` for a block.
    routine: Option<ProcedureId>,
    /// Whether it stands in a routine that takes objects: then it is several blocks.
    several: bool,
    /// What its code can use at its start. For a procedure: the parameters.
    locals: Vec<(String, Type, LocalId)>,
}

impl<'c> Checker<'c> {
    fn new(file: &'c ast::File, diagnostics: &'c mut Diagnostics) -> Self {
        Self {
            file,
            diagnostics,
            names: BTreeMap::new(),
            enums: file
                .enums
                .iter()
                .map(|name| Enum { name: name.clone(), members: Vec::new() })
                .collect(),
            constants: Vec::new(),
            tables: Vec::new(),
            objects: Vec::new(),
            routines: Vec::new(),
            threads: Vec::new(),
            actors: Vec::new(),
            sections: Vec::new(),
            unnamed: Vec::new(),
            effects: Effects::default(),
            passed: passed::Passed::default(),
            ghosts: Flows::default(),
            reported: BTreeSet::new(),
            local_types: Vec::new(),
            mark: None,
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.add(diagnostic);
    }

    fn routines(&mut self) -> Vec<tree::Routine> {
        let decls: Vec<&'c ast::Routine> = self.routines.iter().map(|info| info.decl).collect();
        let routines = decls.into_iter().enumerate();
        routines.map(|(i, decl)| self.routine(ProcedureId::new(i), decl)).collect()
    }

    fn routine(&mut self, id: ProcedureId, decl: &'c ast::Routine) -> tree::Routine {
        match decl.takes_objects() {
            true => self.routine_with_objects(id, decl),
            false => self.routine_body(id, decl, &[]),
        }
    }

    /// Checks the body of a routine, or of an instance that takes these `objects`.
    fn routine_body(
        &mut self,
        id: ProcedureId,
        decl: &'c ast::Routine,
        objects: &[usize],
    ) -> tree::Routine {
        let region = match (decl.task, decl.atomic) {
            (true, _) => Region::Task,
            (false, true) => Region::Atomic,
            (false, false) => Region::Thread,
        };
        let mut body = BodyChecker::new(self, region);
        body.owner = Some(id);
        body.result = decl.result;
        if let Some(index) = decl.actor_index() {
            body.declare_local(index, Type::Int, body::LocalKind::ActorIndex);
        }
        body.declare_params(decl, objects);
        let params = body.locals.len();
        let checked = body.finish(&decl.body, Some(&decl.name));
        tree::Routine {
            // Reports call all of them the same.
            name: if decl.watches { "monitor".to_owned() } else { decl.name.text.clone() },
            span: decl.name.span,
            params,
            result: decl.result,
            atomic: decl.atomic,
            section: self.routines[id.index()].section,
            task: decl.task,
            watches: decl.watches,
            of_indexed_actor: decl.actor_index().is_some(),
            body: checked,
        }
    }

    fn thread_bodies(&mut self) -> Vec<tree::ThreadGroup> {
        let groups: Vec<_> = self.threads.iter().map(|info| (info.decl, info.replicas)).collect();
        let check = |(decl, replicas): (&'c ast::ThreadDecl, _)| {
            let mut body = BodyChecker::new(self, Region::Thread);
            if let Some(replicas) = &decl.replicas {
                body.declare_index(&replicas.index);
            }
            let body = body.finish(&decl.body, None);
            tree::ThreadGroup { name: decl.name.text.clone(), daemon: decl.daemon, replicas, body }
        };
        groups.into_iter().map(check).collect()
    }

    fn finally(&mut self) -> Option<tree::Body> {
        let mut result = None;
        let mut first: Option<Span> = None;
        for item in &self.file.items {
            let ast::Item::Finally(finally) = item else { continue };
            let body = BodyChecker::new(self, Region::Look).finish(&finally.body, None);
            match first {
                None => result = Some(body),
                Some(first) => self.report(
                    Diagnostic::error(finally.keyword, "a second `finally` block")
                        .other(first, "the first one is here")
                        .help("put both into one"),
                ),
            }
            first = first.or(Some(finally.keyword));
        }
        result
    }

    fn invariants(&mut self) -> Vec<tree::Body> {
        let items = self.file.items.iter().filter_map(|item| match item {
            ast::Item::Always(always) => Some(always),
            _ => None,
        });
        items.map(|it| BodyChecker::new(self, Region::Always).finish(&it.body, None)).collect()
    }

    fn promises(&mut self) -> Vec<tree::Promise> {
        let items = self.file.items.iter().filter_map(|item| match item {
            ast::Item::Promise(promise) => Some(promise),
            _ => None,
        });
        items
            .map(|it| {
                let mut body = |body| BodyChecker::new(self, Region::Promise).finish(body, None);
                let premise = it.premise.as_ref().map(&mut body);
                tree::Promise { span: it.span, premise, goal: body(&it.goal) }
            })
            .collect()
    }

    fn warn_unused(&mut self) {
        let routines = self.routines.iter().filter(|info| !info.used);
        let verb = |decl: &ast::Routine| if decl.task { "posted" } else { "called" };
        let routines = routines.map(|info| (&info.decl.name, verb(info.decl)));
        let objects = self.objects.iter().filter(|info| !info.used);
        let objects = objects.map(|info| (&info.decl.name, "used"));
        let unused: Vec<_> = routines.chain(objects).collect();
        for (name, verb) in unused {
            if !name.text.starts_with('_') {
                let message = format!("`{}` is never {verb}", name.text);
                self.report(Diagnostic::warning(name.span, message));
            }
        }
    }

    /// Returns the name of a type in the language.
    fn type_name(&self, ty: Type) -> &str {
        match ty {
            Type::Int => "int",
            Type::Bool => "bool",
            Type::Thread => "thread",
            Type::Enum(id) => &self.enums[id.index()].name,
            Type::Future(result) => result.future(),
        }
    }
}
