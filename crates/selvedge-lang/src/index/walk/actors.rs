//! Actors: their fields and tasks are symbols, whose names have that of the actor before them.

use super::{Access, SymbolKind, Walker};
use crate::tree::written::{ActorDecl, Ident, ObjectDecl, Place, Post, Routine};

impl Walker {
    pub(super) fn actor(&mut self, decl: &ActorDecl) {
        let Some(replicas) = &decl.replicas else { return };
        self.expr(&replicas.low);
        self.expr(&replicas.high);
        let id = self.declare(&replicas.index, SymbolKind::Loop, replicas.index.span);
        self.actor_indices.entry(decl.name.text.clone()).or_insert(id);
    }

    /// Makes the index of the actor visible in a routine of it.
    pub(super) fn enter_actor(&mut self, decl: &Routine) {
        let Some(member) = &decl.member else { return };
        if let (Some(index), Some(&id)) = (&member.index, self.actor_indices.get(&member.actor)) {
            self.locals.push((index.text.clone(), id));
            self.visible.entry(index.text.clone()).or_default().push(id);
        }
    }

    pub(super) fn post(&mut self, post: &Post) {
        if let Some(actor) = &post.actor {
            self.global(&actor.name, Access::NAMES);
            actor.indices.iter().for_each(|index| self.expr(index));
        }
        self.global(&post.task, Access::SPAWNS);
        post.args.iter().for_each(|arg| self.expr(arg));
    }

    /// Returns the name of what a place is a part of: of a field of an actor the field, of one of a record the variable.
    pub(super) fn place_name<'p>(&mut self, place: &'p Place) -> &'p Ident {
        let Some(outer) = &place.record else { return &place.name };
        let kind = self.globals.get(&outer.text).map(|id| self.index.symbols[id.0].kind);
        if !matches!(kind, Some(SymbolKind::Actor { .. })) {
            return outer;
        }
        self.global(outer, Access::NAMES);
        &place.name
    }
}

/// Returns whether it is a field of one of several actors.
pub(super) fn is_of_several(decl: &ObjectDecl) -> bool {
    decl.member.as_ref().is_some_and(|member| member.index.is_some())
}
