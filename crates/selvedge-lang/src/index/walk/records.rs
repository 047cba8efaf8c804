//! Records: a variable that is one is a symbol, and so is each field of the record.

use super::{Access, SymbolKind, Walker, object_kind};
use crate::tree::written::{Ident, ObjectDecl, Place, RecordDecl};

impl Walker {
    pub(super) fn declare_fields(&mut self, decl: &RecordDecl) {
        for field in &decl.fields {
            let id = self.declare(&field.name, SymbolKind::Field, field.name.span);
            let key = (decl.name.text.clone(), field.name.text.clone());
            self.record_fields.entry(key).or_insert(id);
        }
    }

    /// A variable that is a record is declared once, whatever fields it has.
    pub(super) fn declare_record(&mut self, decl: &ObjectDecl) {
        if !self.items.contains_key(&decl.name.span) {
            let text = decl.name.text.split('.').next().unwrap_or_default().to_owned();
            let name = Ident { text, span: decl.name.span };
            self.declare_global(&name, object_kind(decl.kind), name.span);
        }
    }

    /// Notes the field of a place, if it has one.
    pub(super) fn note_field(&mut self, place: &Place) {
        let Some(variable) = &place.record else { return };
        let record = self.records.get(&variable.text);
        let field = place.name.text.split_once('.').map(|(_, field)| field.to_owned());
        let key = record.cloned().zip(field);
        if let Some(&id) = key.and_then(|key| self.record_fields.get(&key)) {
            self.note(&place.name, id, Access::NAMES);
        }
    }
}

/// Returns whether it is one of the variables that a record stands for.
pub(super) fn is_field(decl: &ObjectDecl) -> bool {
    decl.member.is_none() && decl.name.text.contains('.')
}
