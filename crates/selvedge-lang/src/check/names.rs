//! Global names, and what to say about unknown ones.

use super::{
    Checker, ConstantInfo, Entry, Meaning, ObjectInfo, RoutineInfo, SectionInfo, TableInfo,
    ThreadInfo, Value,
};
use crate::diagnostic::{Diagnostic, nearest};
use crate::ir::{EnumId, ProcedureId, Type};
use crate::tree::resolved::{LocalId, SectionId};
use crate::tree::written::{EnumDecl, Ident, Item, ParamKind};

/// How many unknown names are compared with the known ones; the others get no hint.
pub(super) const MOST_HINTS: usize = 20;

impl Checker<'_> {
    /// Enters every item and its name into the tables.
    pub(super) fn declare_items(&mut self) {
        for item in &self.file.items {
            let (name, meaning) = match item {
                Item::Const(decl) => {
                    self.constants.push(ConstantInfo { decl, value: None });
                    (&decl.name, Meaning::Constant(self.constants.len() - 1))
                }
                Item::Record(decl) => (&decl.name, Meaning::Record),
                Item::Actor(decl) => {
                    self.declare_actor(decl);
                    continue;
                }
                Item::Enum(decl) => {
                    self.declare_enum(decl);
                    continue;
                }
                Item::Table(decl) => {
                    self.tables.push(TableInfo { decl, table: None });
                    (&decl.name, Meaning::Table(self.tables.len() - 1))
                }
                Item::Object(decl) => {
                    let info = ObjectInfo { decl, sizes: None, ty: Type::Int, used: false };
                    self.objects.push(info);
                    (&decl.name, Meaning::Object(self.objects.len() - 1))
                }
                Item::Routine(decl) => {
                    self.routines.push(RoutineInfo { decl, section: None, used: false });
                    (&decl.name, Meaning::Routine(self.routines.len() - 1))
                }
                Item::Thread(decl) => {
                    self.threads.push(ThreadInfo { decl, replicas: None });
                    (&decl.name, Meaning::Thread(self.threads.len() - 1))
                }
                Item::Finally(_) | Item::Always(_) | Item::Promise(_) | Item::Independent(_) => {
                    continue;
                }
            };
            self.declare(name, meaning);
        }
        for decl in &self.file.watchers {
            self.routines.push(RoutineInfo { decl, section: None, used: true });
            self.declare(&decl.name, Meaning::Routine(self.routines.len() - 1));
        }
        self.effects.routines.resize_with(self.routines.len(), Default::default);
        self.declare_atomic_procedures();
    }

    fn declare_enum(&mut self, decl: &EnumDecl) {
        self.declare(&decl.name, Meaning::Enum);
        let number = self.enums.iter().position(|it| it.name == decl.name.text);
        let id = EnumId::new(number.expect("internal error: the parser knows all of them"));
        let ty = Type::Enum(id);
        for (value, member) in decl.members.iter().enumerate() {
            let value =
                Value { ty, value: i32::try_from(value).expect("internal error: a long text") };
            self.declare(member, Meaning::Member(value));
            self.enums[id.index()].members.push(member.text.clone());
        }
    }

    /// Defines a global name, unless it is defined.
    pub(super) fn declare(&mut self, name: &Ident, meaning: Meaning) {
        if let Some(first) = self.names.get(&name.text) {
            let first = first.span;
            let message = format!("the name `{}` is used twice", name.text);
            self.report(
                Diagnostic::error(name.span, message)
                    .other(first, "first declared here")
                    .help("names of declarations are global: choose another one"),
            );
            return;
        }
        self.names.insert(name.text.clone(), Entry { meaning, span: name.span });
    }

    fn declare_atomic_procedures(&mut self) {
        for (i, info) in self.routines.iter_mut().enumerate() {
            // One that takes objects is several.
            if info.decl.atomic && !info.decl.takes_objects() {
                let index = info.decl.actor_index().map(|index| (index, Type::Int));
                let params = info.decl.params.iter().filter_map(|param| match param.kind {
                    ParamKind::Value(ty) => Some((&param.name, ty)),
                    ParamKind::Object(_) => None,
                });
                let params = index.into_iter().chain(params).enumerate();
                let locals = params.map(|(i, (name, ty))| (name.text.clone(), ty, LocalId(i)));
                info.section = Some(SectionId(self.sections.len()));
                self.sections.push(SectionInfo {
                    routine: Some(ProcedureId::new(i)),
                    several: false,
                    locals: locals.collect(),
                });
            }
        }
    }

    /// Returns how messages call what a name stands for, with an article.
    pub(super) fn describe(&self, meaning: Meaning) -> &'static str {
        match meaning {
            Meaning::Enum => "an enumeration",
            Meaning::Record => "a record",
            Meaning::Actor(_) => "an actor",
            Meaning::Member(_) => "a value of an enumeration",
            Meaning::Constant(_) => "a constant",
            Meaning::Table(_) => "a constant array",
            Meaning::Object(i) => self.objects[i].decl.kind.describe(),
            Meaning::Routine(i) if self.routines[i].decl.task => "a task",
            Meaning::Routine(i) if self.routines[i].decl.result.is_some() => "a function",
            Meaning::Routine(_) => "a procedure",
            Meaning::Thread(_) => "a thread",
            Meaning::Section(_) => "an atomic block",
        }
    }

    /// Returns the atomic procedure or block with this name.
    pub(super) fn section_named(&self, name: &str) -> Option<SectionId> {
        if let Some(number) = name.strip_prefix("atomic ") {
            let number: usize = number.parse().ok()?;
            return self.unnamed.get(number.checked_sub(1)?).copied();
        }
        match self.names.get(name)?.meaning {
            Meaning::Routine(i) => self.routines[i].section,
            Meaning::Section(section) => Some(section),
            _ => None,
        }
    }

    /// Returns the global name that `name` was probably meant to be, among those that `fits` accepts. It
    /// takes a look at all of them, so only the first unknown names get such a hint.
    pub(super) fn near_global(&self, name: &str, fits: impl Fn(Meaning) -> bool) -> Option<&str> {
        if self.reported.len() >= MOST_HINTS {
            return None;
        }
        let names = self.names.iter().filter(|(_, entry)| fits(entry.meaning));
        nearest(name, names.map(|(name, _)| name.as_str()))
    }
}
