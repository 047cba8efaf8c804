//! Objects that are passed to routines.

use super::{Access, SymbolKind, Walker, place_in};
use crate::tree::written::{Expr, Ident, ObjectKind, Param, Place, Routine};

impl Walker {
    /// Notes which parameters of a routine are objects.
    pub(super) fn note_objects(&mut self, decl: &Routine) {
        let objects = decl.params.iter().map(|param| param.object().is_some()).collect();
        self.takes.insert(decl.name.text.clone(), objects);
    }

    pub(super) fn declare_params(&mut self, decl: &Routine) {
        for param in &decl.params {
            let id = self.declare_local(&param.name, SymbolKind::Parameter);
            self.index.symbols[id.0].object = written_type(param);
        }
    }

    /// The arguments of a call of a routine.
    pub(super) fn arguments(&mut self, routine: &Ident, args: &[Expr]) {
        let takes = self.takes.get(&routine.text).cloned().unwrap_or_default();
        for (i, arg) in args.iter().enumerate() {
            match place_in(arg).filter(|_| takes.get(i) == Some(&true)) {
                Some(place) => self.passed(place),
                None => self.expr(arg),
            }
        }
    }

    /// An object that is passed may be used in every way.
    fn passed(&mut self, place: &Place) {
        let kind = self.look_up(&place.name.text).map(|id| self.index.symbol(id).kind);
        self.place(place, Access::passes(kind.unwrap_or(SymbolKind::Parameter)));
    }
}

/// Returns the keywords with which a parameter is declared that is an object, without the type of a variable.
fn written_type(param: &Param) -> Option<(&'static str, usize)> {
    let decl = param.object()?;
    let word = match decl.kind {
        ObjectKind::Shared { atomic: true, .. } => "shared atomic",
        ObjectKind::Shared { .. } | ObjectKind::Ghost { .. } => "shared",
        ObjectKind::Mutex => "mutex",
        ObjectKind::Rwlock => "rwlock",
        ObjectKind::Cond => "cond",
        ObjectKind::Semaphore => "semaphore",
        ObjectKind::Barrier => "barrier",
        ObjectKind::List => "list",
        ObjectKind::Map => "map",
        ObjectKind::Channel(_) => "channel",
    };
    Some((word, decl.sizes.len()))
}
