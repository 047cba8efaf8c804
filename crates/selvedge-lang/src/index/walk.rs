//! Looks up every name of a tree as it was written, by the rules of scopes that the checker has.

mod actors;
mod fields;
mod passed;
mod records;

use std::collections::{BTreeMap, BTreeSet};

use self::actors::is_of_several;
use self::fields::each_field;
use self::records::is_field;
use super::access::is_ordering;
use super::{Access, Index, Place as Stands, Section, Symbol, SymbolId, SymbolKind, Use};
use crate::check;
use crate::ops::{Lock, Message, Nothing, Op, Parts, Pattern, Thread};
use crate::span::Span;
use crate::tree::Written;
use crate::tree::written::{
    Assignment, Block, Expr, ExprKind, File, Ident, Independent, Initial, Item, Leaf, ObjectDecl,
    ObjectKind, Place, Routine, Stmt, StmtKind, ThreadDecl,
};

/// Returns the names of a file.
pub(super) fn walk(file: &File) -> Index {
    let mut walker = Walker {
        index: Index::default(),
        globals: BTreeMap::new(),
        items: BTreeMap::new(),
        locals: Vec::new(),
        visible: BTreeMap::new(),
        fields: BTreeMap::new(),
        record_fields: BTreeMap::new(),
        records: file
            .of_records
            .iter()
            .map(|(variable, record)| (variable.text.clone(), record.text.clone()))
            .collect(),
        walked: BTreeSet::new(),
        actor_indices: BTreeMap::new(),
        takes: BTreeMap::new(),
        stands: Stands::Declaration,
        section: None,
    };
    file.items.iter().for_each(|item| walker.declare_item(item));
    file.items.iter().for_each(|item| walker.item(item));
    // Conditions speak of the locals of blocks, wherever these stand.
    for item in &file.items {
        if let Item::Independent(independent) = item {
            walker.independent(independent);
        }
    }
    for name in &file.types {
        if let Some(&id) = walker.globals.get(&name.text) {
            walker.note(name, id, Access::NAMES);
        }
    }
    walker.index
}

struct Walker {
    index: Index,
    globals: BTreeMap<String, SymbolId>,
    /// By the places of their names: a name may be declared twice.
    items: BTreeMap<Span, SymbolId>,
    /// The innermost last.
    locals: Vec<(String, SymbolId)>,
    /// The same by name; of several the innermost last.
    visible: BTreeMap<String, Vec<SymbolId>>,
    /// The locals that a named atomic block or procedure can use at its start.
    fields: BTreeMap<SymbolId, Vec<(String, SymbolId)>>,
    /// By record and field.
    record_fields: BTreeMap<(String, String), SymbolId>,
    /// The records of variables.
    records: BTreeMap<String, String>,
    /// Where variables are declared that are records, and whose sizes have been looked at.
    walked: BTreeSet<Span>,
    /// The indices of actors, where there are several.
    actor_indices: BTreeMap<String, SymbolId>,
    /// By routine, which parameters are objects.
    takes: BTreeMap<String, Vec<bool>>,
    stands: Stands,
    section: Option<Span>,
}

impl Walker {
    fn declare(&mut self, name: &Ident, kind: SymbolKind, whole: Span) -> SymbolId {
        let id = SymbolId(self.index.symbols.len());
        let owner = match self.stands {
            Stands::Body(owner) => Some(owner),
            _ => None,
        };
        self.index.symbols.push(Symbol {
            name: name.text.clone(),
            kind,
            span: name.span,
            whole,
            owner,
            ty: None,
            value: None,
            sizes: Vec::new(),
            object: None,
            threads: None,
        });
        self.note(name, id, Access::DECLARES);
        id
    }

    /// A name that is declared twice is an error; the first declaration has it.
    fn declare_global(&mut self, name: &Ident, kind: SymbolKind, whole: Span) -> SymbolId {
        let id = self.declare(name, kind, whole);
        self.items.insert(name.span, id);
        self.globals.entry(name.text.clone()).or_insert(id);
        id
    }

    fn declare_local(&mut self, name: &Ident, kind: SymbolKind) -> SymbolId {
        let id = self.declare(name, kind, name.span);
        self.locals.push((name.text.clone(), id));
        self.visible.entry(name.text.clone()).or_default().push(id);
        id
    }

    fn note(&mut self, name: &Ident, symbol: SymbolId, access: Access) {
        let (place, section) = (self.stands, self.section);
        self.index.uses.push(Use { span: name.span, symbol, access, place, section });
    }

    fn look_up(&self, name: &str) -> Option<SymbolId> {
        let local = self.visible.get(name).and_then(|all| all.last());
        local.or_else(|| self.globals.get(name)).copied()
    }

    fn declare_item(&mut self, item: &Item) {
        match item {
            Item::Const(decl) => {
                self.declare_global(&decl.name, SymbolKind::Constant, decl.name.span);
            }
            Item::Record(decl) => {
                self.declare_global(&decl.name, SymbolKind::Record, decl.name.span);
                self.declare_fields(decl);
            }
            Item::Table(decl) => {
                self.declare_global(&decl.name, SymbolKind::Constant, decl.name.span);
            }
            Item::Enum(decl) => {
                let whole = decl.members.last().map_or(decl.name.span, |last| last.span);
                self.declare_global(&decl.name, SymbolKind::Enum, decl.name.span.to(whole));
                for member in &decl.members {
                    self.declare_global(member, SymbolKind::Member, member.span);
                }
            }
            Item::Actor(decl) => {
                let kind = SymbolKind::Actor { replicated: decl.replicas.is_some() };
                self.declare_global(&decl.name, kind, decl.name.span.to(decl.span));
            }
            Item::Object(decl) if is_field(decl) => self.declare_record(decl),
            Item::Object(decl) => {
                self.declare_global(&decl.name, object_kind(decl.kind), decl.name.span);
            }
            Item::Routine(decl) => {
                self.note_objects(decl);
                let kind = match decl.result {
                    _ if decl.task => SymbolKind::Task,
                    Some(_) => SymbolKind::Function,
                    None => SymbolKind::Procedure { atomic: decl.atomic },
                };
                self.declare_global(&decl.name, kind, decl.name.span.to(decl.body.span));
            }
            Item::Thread(decl) => {
                let kind = SymbolKind::Thread { replicated: decl.replicas.is_some() };
                self.declare_global(&decl.name, kind, decl.name.span.to(decl.body.span));
            }
            Item::Finally(_) | Item::Always(_) | Item::Promise(_) | Item::Independent(_) => {}
        }
    }

    /// Returns the symbol that an item declared, also if another one has the name.
    fn declared(&self, name: &Ident) -> SymbolId {
        self.items[&name.span]
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Const(decl) => self.expr(&decl.value),
            Item::Enum(_) => {}
            Item::Actor(decl) => self.actor(decl),
            Item::Record(decl) => decl.fields.iter().for_each(|field| self.expr(&field.value)),
            Item::Table(decl) => {
                self.expr(&decl.size);
                self.initial(&decl.initial);
            }
            Item::Object(decl) => self.object(decl),
            Item::Routine(decl) => self.routine(decl),
            Item::Thread(decl) => self.thread(decl),
            Item::Finally(finally) => self.inside(Stands::Finally, |it| it.block(&finally.body)),
            Item::Always(always) => self.inside(Stands::Always, |it| it.block(&always.body)),
            Item::Promise(promise) => self.inside(Stands::Promise, |it| {
                promise.premise.iter().for_each(|premise| it.block(premise));
                it.block(&promise.goal);
            }),
            Item::Independent(_) => {}
        }
    }

    /// Walks code with locals of its own.
    fn inside(&mut self, stands: Stands, walk: impl FnOnce(&mut Self)) {
        self.stands = stands;
        self.scope(walk);
        self.stands = Stands::Declaration;
    }

    fn scope<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.locals.len();
        let walked = walk(self);
        for (name, _) in self.locals.drain(before..) {
            self.visible.get_mut(&name).and_then(Vec::pop);
        }
        walked
    }

    /// Returns what conditions can speak of at the start of a block. With more the checker refuses its name.
    fn fields_here(&self) -> Vec<(String, SymbolId)> {
        if self.locals.len() > check::MAX_SECTION_LOCALS { Vec::new() } else { self.locals.clone() }
    }

    fn in_section(&mut self, keyword: &'static str, span: Span, walk: impl FnOnce(&mut Self)) {
        self.index.sections.push(Section { keyword, span });
        let outer = self.section;
        // The outermost is the step.
        self.section = outer.or(Some(span));
        walk(self);
        self.section = outer;
    }

    fn object(&mut self, decl: &ObjectDecl) {
        // The fields of a variable have the same sizes, and what they hold at the start stands in the record.
        if is_field(decl) && !self.walked.insert(decl.name.span) {
            return;
        }
        // The number of actors stands with them.
        let sizes = decl.sizes.iter().skip(usize::from(is_of_several(decl)));
        sizes.for_each(|size| self.expr(size));
        if let (Some(initial), false) = (&decl.initial, is_field(decl)) {
            self.initial(initial);
        }
    }

    fn initial(&mut self, initial: &Initial) {
        match initial {
            Initial::Value(value) => self.expr(value),
            Initial::Elements { elements, .. } => elements.iter().for_each(|it| self.initial(it)),
            Initial::Entries { entries, .. } => entries.iter().for_each(|(key, value)| {
                self.expr(key);
                self.expr(value);
            }),
        }
    }

    fn routine(&mut self, decl: &Routine) {
        let id = self.declared(&decl.name);
        self.inside(Stands::Body(id), |it| {
            it.enter_actor(decl);
            it.declare_params(decl);
            if decl.atomic {
                it.fields.insert(id, it.fields_here());
                let span = decl.name.span.to(decl.body.span);
                let keyword = if decl.task { "task" } else { "atomic" };
                it.in_section(keyword, span, |it| it.block(&decl.body));
            } else {
                it.block(&decl.body);
            }
        });
    }

    fn thread(&mut self, decl: &ThreadDecl) {
        if let Some(replicas) = &decl.replicas {
            self.expr(&replicas.low);
            self.expr(&replicas.high);
        }
        self.inside(Stands::Body(self.declared(&decl.name)), |it| {
            if let Some(replicas) = &decl.replicas {
                it.declare_local(&replicas.index, SymbolKind::Loop);
            }
            it.block(&decl.body);
        });
    }

    fn independent(&mut self, independent: &Independent) {
        self.scope(|it| {
            for side in &independent.sides {
                side.actor.iter().for_each(|actor| it.global(actor, Access::NAMES));
                if let Some(&id) = it.globals.get(&side.name.text) {
                    it.note(&side.name, id, Access::NAMES);
                }
            }
            for param in independent.sides.iter().flat_map(|side| side.params.iter().flatten()) {
                it.declare_local(param, SymbolKind::Parameter);
            }
            if let Some(condition) = &independent.condition {
                it.fields_of(condition, independent);
                it.expr(condition);
            }
        });
    }

    /// Looks up `first.v` and `block.v`, which stand in the conditions of constraints only.
    fn fields_of(&mut self, condition: &Expr, independent: &Independent) {
        let [first, second] = &independent.sides;
        each_field(condition, &mut |base, field| {
            let section = match base.text.as_str() {
                "first" => Some(&first.name),
                "second" => Some(&second.name),
                name => [first, second].into_iter().map(|it| &it.name).find(|it| it.text == name),
            };
            let Some(&id) = section.and_then(|name| self.globals.get(&name.text)) else { return };
            if base.text != "first" && base.text != "second" {
                self.note(base, id, Access::NAMES);
            }
            let fields = self.fields.get(&id).into_iter().flatten();
            // Of a local array: `a[0]`.
            let name = field.text.split('[').next().unwrap_or_default();
            let found = fields.rev().find(|(it, _)| it == name).map(|(_, id)| *id);
            if let Some(local) = found {
                self.note(field, local, Access::NAMES);
            }
        });
    }

    fn block(&mut self, block: &Block) {
        self.scope(|it| block.statements.iter().for_each(|statement| it.statement(statement)));
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Set(Assignment::Let { name, value, .. }) => {
                self.expr(value);
                self.declare_local(name, SymbolKind::Local);
            }
            StmtKind::Set(Assignment::LetArray { name, size, initial, .. }) => {
                self.expr(size);
                self.initial(initial);
                self.declare_local(name, SymbolKind::Local);
            }
            StmtKind::Set(Assignment::Assign { target, op, value }) => {
                let access = if op.is_some() { Access::UPDATES } else { Access::WRITES };
                self.place(target, access);
                self.expr(value);
            }
            StmtKind::Expr(value) => self.expr(value),
            StmtKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.expr(condition);
                    self.block(body);
                }
                otherwise.iter().for_each(|body| self.block(body));
            }
            StmtKind::While { condition, body } => {
                self.expr(condition);
                self.block(body);
            }
            StmtKind::For { index, low, high, body } => {
                self.expr(low);
                self.expr(high);
                self.scope(|it| {
                    it.declare_local(index, SymbolKind::Loop);
                    it.block(body);
                });
            }
            StmtKind::Lock { mode, target, body } => {
                self.place(target, Access::acquires(*mode));
                body.iter().for_each(|body| self.block(body));
            }
            StmtKind::Atomic { section, body } => {
                if let Some(name) = section {
                    let id =
                        self.declare_global(name, SymbolKind::Section, name.span.to(body.span));
                    self.fields.insert(id, self.fields_here());
                }
                self.in_section("atomic", statement.span, |it| it.block(body));
            }
            StmtKind::Block(body) => self.block(body),
            StmtKind::Op(op @ Op::Await { .. }) => {
                self.in_section("await", statement.span, |it| it.op(op));
            }
            StmtKind::ForEach { element, list, body } => {
                self.place(list, Access::READS);
                self.scope(|it| {
                    it.declare_local(element, SymbolKind::Loop);
                    it.block(body);
                });
            }
            StmtKind::Scan(condition) => self.expr(condition),
            StmtKind::Op(op) => self.op(op),
            StmtKind::Break | StmtKind::Continue | StmtKind::Skip => {}
        }
    }

    fn op(&mut self, op: &Op<Written>) {
        match op {
            Op::Lock(Lock::Release { mode, lock }) => self.place(lock, Access::releases(*mode)),
            Op::Thread(Thread::Spawn { procedure, arguments, .. }) => {
                self.global(procedure, Access::SPAWNS);
                self.arguments(procedure, arguments);
            }
            Op::Thread(Thread::Join { thread }) => self.target(thread, Access::JOINS),
            Op::Message(Message::Send { to, values }) => {
                match place_in(to) {
                    Some(place) if self.is_channel(place) => self.place(place, Access::PUTS),
                    _ => self.target(to, Access::SENDS),
                }
                values.iter().for_each(|value| self.expr(value));
            }
            op => {
                op.map(self);
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Leaf(Leaf::Place(place)) => self.place(place, Access::READS),
            ExprKind::Leaf(Leaf::Call { name, args }) => self.call(name, args),
            ExprKind::Leaf(Leaf::Post(post)) => self.post(post),
            ExprKind::Leaf(Leaf::Monitor(monitor)) => {
                self.target(&monitor.thread, Access::WATCHES);
                monitor.values.iter().for_each(|value| self.expr(value));
            }
            ExprKind::Leaf(Leaf::Paren(inner) | Leaf::Await(inner)) => self.expr(inner),
            ExprKind::Leaf(
                Leaf::Int(_)
                | Leaf::Bool(_)
                | Leaf::Field { .. }
                | Leaf::Choose
                | Leaf::SelfHandle
                | Leaf::ActorIndex,
            ) => {}
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::If { condition, then, otherwise } => {
                [condition, then, otherwise].into_iter().for_each(|part| self.expr(part));
            }
            ExprKind::Op(op) => self.op(op),
        }
    }

    fn is_channel(&self, place: &Place) -> bool {
        let symbol = self.look_up(&place.name.text);
        symbol.is_some_and(|id| self.index.symbol(id).kind == SymbolKind::Channel)
    }

    /// A user's routine goes before a built-in one with the same name.
    fn call(&mut self, name: &Ident, args: &[Expr]) {
        if self.is_routine(name) {
            self.global(name, Access::CALLS);
            self.arguments(name, args);
            return;
        }
        for (i, arg) in args.iter().enumerate() {
            match (Access::by_built_in(&name.text, i), place_in(arg)) {
                (_, Some(place)) if is_ordering(&name.text, i, &place.name.text) => {}
                (Some(access), Some(place)) => self.place(place, access),
                _ => self.expr(arg),
            }
        }
    }

    fn is_routine(&self, name: &Ident) -> bool {
        let kind = self.globals.get(&name.text).map(|id| self.index.symbols[id.0].kind);
        matches!(kind, Some(SymbolKind::Function | SymbolKind::Procedure { .. }))
    }

    fn global(&mut self, name: &Ident, access: Access) {
        if let Some(&id) = self.globals.get(&name.text) {
            self.note(name, id, access);
        }
    }

    /// A thread that something is done to, if it is named.
    fn target(&mut self, thread: &Expr, access: Access) {
        match place_in(thread) {
            Some(place) => self.place(place, access),
            None => self.expr(thread),
        }
    }

    fn place(&mut self, place: &Place, access: Access) {
        let name = self.place_name(place);
        if let Some(id) = self.look_up(&name.text) {
            let symbol = &self.index.symbols[id.0];
            let access = match symbol.kind {
                kind if kind.is_shared() => shared_access(kind, access),
                SymbolKind::Thread { .. } if access.mode.is_some() => Access::NAMES,
                // No other thread sees what is done to something local.
                _ => Access { mode: None, ..access },
            };
            self.note(name, id, access);
        }
        self.note_field(place);
        place.indices.iter().for_each(|index| self.expr(index));
    }
}

/// Returns what an access to something shared is: an element of a list or a map is a part of it.
fn shared_access(kind: SymbolKind, access: Access) -> Access {
    let is_container = matches!(kind, SymbolKind::List | SymbolKind::Map);
    if is_container && (access == Access::WRITES || access == Access::UPDATES) {
        return Access::CHANGES;
    }
    access
}

fn place_in(expr: &Expr) -> Option<&Place> {
    match &expr.kind {
        ExprKind::Leaf(Leaf::Place(place)) => Some(place),
        ExprKind::Leaf(Leaf::Paren(inner)) => place_in(inner),
        _ => None,
    }
}

fn object_kind(kind: ObjectKind) -> SymbolKind {
    match kind {
        ObjectKind::Shared { atomic, .. } => SymbolKind::Variable { atomic },
        ObjectKind::Ghost { .. } => SymbolKind::Ghost,
        ObjectKind::Mutex => SymbolKind::Mutex,
        ObjectKind::Rwlock => SymbolKind::Rwlock,
        ObjectKind::Cond => SymbolKind::Cond,
        ObjectKind::Semaphore => SymbolKind::Semaphore,
        ObjectKind::Barrier => SymbolKind::Barrier,
        ObjectKind::List => SymbolKind::List,
        ObjectKind::Map => SymbolKind::Map,
        ObjectKind::Channel(_) => SymbolKind::Channel,
    }
}

/// The parts of an operation that needs no special care.
impl Parts<Written, Nothing> for Walker {
    fn value(&mut self, value: &Expr) {
        self.expr(value);
    }

    fn object(&mut self, object: &Place) {
        self.place(object, Access::READS);
    }

    fn target(&mut self, (): &()) {}

    fn local(&mut self, local: &Ident) {
        self.declare_local(local, SymbolKind::Local);
    }

    fn label(&mut self, label: &Block) {
        self.block(label);
    }

    fn routine(&mut self, routine: &Ident) {
        self.global(routine, Access::CALLS);
    }

    fn guard(&mut self, guard: &Expr, _: &[Pattern<Written>]) {
        self.expr(guard);
    }

    fn in_scope<T>(&mut self, parts: impl FnOnce(&mut Self) -> T) -> T {
        self.scope(parts)
    }
}
