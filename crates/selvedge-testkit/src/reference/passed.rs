//! Objects that are passed to routines: a parameter stands for one as long as the routine runs.

use super::expressions::out_of_bounds;
use super::program::Array;
use super::run::{Run, Stop};
use super::state::Value;
use super::syntax::{Expr, ExprKind, Place, Routine};

impl Run<'_> {
    /// The values of the arguments of a call, from left to right.
    pub(super) fn arguments(
        &mut self,
        routine: &Routine,
        arguments: &[Expr],
    ) -> Result<Vec<Value>, Stop> {
        let mut values = Vec::new();
        for (number, argument) in arguments.iter().enumerate() {
            values.push(match (routine.objects.get(number), &argument.kind) {
                (Some(true), ExprKind::Place(place)) => self.object_passed(place)?,
                (Some(true), other) => panic!("{other:?} is no object"),
                _ => self.expr(argument)?,
            });
        }
        Ok(values)
    }

    /// Each index is checked as soon as it is known.
    fn object_passed(&mut self, place: &Place) -> Result<Value, Stop> {
        let (name, mut indices) = match self.local(&place.name) {
            Some(Value::Object(name, indices)) => (name, indices),
            _ => (place.name.clone(), Vec::new()),
        };
        let array = &self.program.arrays[&name];
        for index in &place.indices {
            let index = self.expr(index)?.int();
            if !(0..array.dimensions[indices.len()]).contains(&index) {
                return Err(out_of_bounds(place.line));
            }
            indices.push(index);
        }
        Ok(Value::Object(name, indices))
    }

    /// The array that a name stands for, and the indices that are known: of what was passed, or of an actor.
    pub(super) fn array(&self, name: &str) -> (&Array, Vec<i32>) {
        let (name, indices) = match self.local(name) {
            Some(Value::Object(name, indices)) => (name, indices),
            _ => {
                let (name, own) = self.full_name(name);
                (name, own.into_iter().map(|index| index.int()).collect())
            }
        };
        let array = self.program.arrays.get(&name);
        (array.unwrap_or_else(|| panic!("what is {name}?")), indices)
    }

    /// Whether something shared is meant by this name.
    pub(super) fn is_shared(&self, name: &str) -> bool {
        match self.local(name) {
            Some(value) => matches!(value, Value::Object(..)),
            None => self.program.arrays.contains_key(name),
        }
    }
}
