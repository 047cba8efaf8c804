//! Questions about programs, and the numbering of objects.
//!
//! Objects are numbered densely: those of the globals in the order of declaration, one per element
//! (two for a barrier); then three per thread that starts at the beginning: its mailbox, its life,
//! its wake-up. Those of spawned threads and of messages follow while the program runs.

use super::{
    AtomicId, AtomicKind, Global, GlobalId, GlobalKind, Program, Site, SiteId, StaticThread, Type,
};
use selvedge_core::{ObjectId, Place};

/// Objects per thread: mailbox, life, wake-up.
pub(crate) const OBJECTS_PER_THREAD: usize = 3;

impl Program {
    /// Adds shared objects and numbers them.
    ///
    /// # Panics
    /// If there are more than 2³² objects; the caller limits the sizes of arrays.
    pub fn add_global(&mut self, name: String, dims: Vec<u32>, kind: GlobalKind) -> GlobalId {
        let base = u32::try_from(self.global_objects()).expect("internal error: too many objects");
        self.globals.push(Global { name, dims, kind, base, own_dims: 0 });
        GlobalId::new(self.globals.len() - 1)
    }

    /// Returns the section that is named where this one ends: of a later part of a task, the first.
    pub fn ends_as(&self, atomic: AtomicId) -> AtomicId {
        self.atomics.get(atomic.index()).and_then(|it| it.continues).unwrap_or(atomic)
    }

    /// Returns whether it has actors.
    pub fn has_actors(&self) -> bool {
        self.atomics.iter().any(|atomic| atomic.kind == AtomicKind::Task)
    }

    /// Returns which procedures contain an `await`, also in what they call.
    pub fn awaiting_procedures(&self) -> Vec<bool> {
        let mut awaiting = vec![false; self.procedures.len()];
        loop {
            let mut changed = false;
            for (i, procedure) in self.procedures.iter().enumerate() {
                let mut code = procedure.code.iter();
                let awaits = code.any(|instruction| instruction.op.awaits(&awaiting));
                changed |= awaits && !std::mem::replace(&mut awaiting[i], awaits);
            }
            if !changed {
                return awaiting;
            }
        }
    }

    /// Adds a place in the source.
    pub fn add_site(&mut self, site: Site) -> SiteId {
        self.sites.push(site);
        SiteId::new(self.sites.len() - 1)
    }

    /// Returns how many objects the globals have; all of them are numbered below it.
    pub fn global_objects(&self) -> usize {
        self.globals.last().map_or(0, |last| last.base as usize + last.objects())
    }

    /// Returns the mailbox of a thread that starts at the beginning; its life and its wake-up follow.
    pub fn mailbox(&self, thread: usize) -> ObjectId {
        ObjectId::new(self.global_objects() + OBJECTS_PER_THREAD * thread)
    }

    /// Returns the declaration that an object belongs to, and which element it is.
    pub fn global_of(&self, object: ObjectId) -> Option<(GlobalId, usize)> {
        if object.index() >= self.global_objects() {
            return None;
        }
        let after = self.globals.partition_point(|global| global.base as usize <= object.index());
        let id = GlobalId::new(after.checked_sub(1)?);
        let global = &self.globals[id.index()];
        Some((id, (object.index() - global.base as usize) / global.objects_per_element()))
    }

    /// Returns whether the end of a thread can be observed by others: there is a `send` or a `join`.
    pub fn observes_ends(&self) -> bool {
        let mut code = self.procedures.iter().flat_map(|procedure| &procedure.code);
        code.any(|it| it.op.operation().is_some_and(|op| op.facts().observes_ends))
    }

    /// Returns a place in the source, for reports.
    pub fn place(&self, site: SiteId) -> Place {
        let site = &self.sites[site.index()];
        let further = self.imports.iter().chain(&self.additions);
        let (file, line) = match further.rev().find(|it| site.line > it.after_line) {
            Some(text) => (&text.name, site.line - text.after_line),
            None => (&self.source_name, site.line),
        };
        Place { file: file.clone(), line, column: site.column, length: site.length }
    }
}

impl Global {
    /// Returns how many elements there are; 1 without dimensions.
    pub fn elements(&self) -> usize {
        self.dims.iter().map(|&size| size as usize).product()
    }

    /// Returns how many objects all elements have together.
    pub fn objects(&self) -> usize {
        self.elements() * self.objects_per_element()
    }

    /// Returns how many objects one element has.
    pub fn objects_per_element(&self) -> usize {
        if matches!(self.kind, GlobalKind::Barrier { .. }) { 2 } else { 1 }
    }

    /// Returns the type of a variable; integers for all others.
    pub fn value_type(&self) -> Type {
        match self.kind {
            GlobalKind::Variable { ty, .. } | GlobalKind::Ghost { ty, .. } => ty,
            _ => Type::Int,
        }
    }

    /// Returns the name of an element as the user would write it: `x`, `a[3]`, `grid[1][0]`.
    pub fn element_name(&self, element: usize) -> String {
        match self.dims[..] {
            [] => self.indexed(&[]),
            [_, columns] => {
                let columns = columns as usize;
                self.indexed(&[(element / columns).to_string(), (element % columns).to_string()])
            }
            _ => self.indexed(&[element.to_string()]),
        }
    }

    /// Returns its name with indices, as the user would write it: those of a record or an actor stand before the field, those of
    /// a field that is an array behind it.
    pub fn indexed(&self, indices: &[String]) -> String {
        let own = indices.len().saturating_sub(self.own_dims as usize);
        let text = |indices: &[String]| -> String {
            indices.iter().map(|index| format!("[{index}]")).collect()
        };
        match self.name.split_once('.') {
            Some((outer, field)) => {
                format!("{outer}{}.{field}{}", text(&indices[..own]), text(&indices[own..]))
            }
            None => format!("{}{}", self.name, text(indices)),
        }
    }
}

impl StaticThread {
    /// Returns its name as the user would write it: `writer`, `reader[2]`.
    pub fn full_name(&self) -> String {
        match self.index {
            Some(index) => format!("{}[{index}]", self.name),
            None => self.name.clone(),
        }
    }
}
