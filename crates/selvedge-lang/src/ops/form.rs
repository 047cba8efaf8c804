//! What the parts of an operation are at each stage of a program, and how to get from one stage to the next.

use std::fmt::Debug;

use super::Pattern;
use crate::ir::{Guard, GuardArgument, Label, ObjectRef, Operand, ProcedureId, Slot};

/// A stage of a program: what stands for the parts of an operation there.
///
/// The parser, the checker and the intermediate representation speak of the same operations. What differs is what
/// they are applied to: expressions with names, expressions with types, slots and constants.
pub trait Form: Clone + Eq + Debug {
    /// A value that is used.
    type Value: Clone + Eq + Debug;
    /// A shared object.
    type Object: Clone + Eq + Debug;
    /// Where a result goes.
    type Target: Clone + Eq + Debug;
    /// A local variable that gets a value besides the result.
    type Local: Clone + Eq + Debug;
    /// Where control goes.
    type Label: Clone + Eq + Debug;
    /// A function or procedure.
    type Routine: Clone + Eq + Debug;
    /// A condition on a message.
    type Guard: Clone + Eq + Debug;
}

/// The form of the intermediate representation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code;

impl Form for Code {
    type Value = Operand;
    type Object = ObjectRef;
    type Target = Slot;
    type Local = Slot;
    type Label = Label;
    type Routine = ProcedureId;
    type Guard = Guard;
}

/// Turns the parts of an operation into those of another form.
///
/// [`Op::map`](super::Op::map) asks for them in the order in which they are evaluated; the target comes last.
pub(crate) trait Parts<F: Form, G: Form> {
    fn value(&mut self, value: &F::Value) -> G::Value;
    fn object(&mut self, object: &F::Object) -> G::Object;
    fn target(&mut self, target: &F::Target) -> G::Target;
    fn local(&mut self, local: &F::Local) -> G::Local;
    fn label(&mut self, label: &F::Label) -> G::Label;
    fn routine(&mut self, routine: &F::Routine) -> G::Routine;
    /// The patterns are those of the message that it is a condition on.
    fn guard(&mut self, guard: &F::Guard, patterns: &[Pattern<F>]) -> G::Guard;

    /// Of an operation whose result may be thrown away.
    fn optional_target(&mut self, target: &Option<F::Target>) -> Option<G::Target> {
        target.as_ref().map(|target| self.target(target))
    }

    fn values(&mut self, values: &[F::Value]) -> Box<[G::Value]> {
        values.iter().map(|value| self.value(value)).collect()
    }

    /// Maps parts that share the locals declared among them; only what looks up names has to know.
    fn in_scope<T>(&mut self, parts: impl FnOnce(&mut Self) -> T) -> T {
        parts(self)
    }
}

/// The form without parts: what is left when an operation is only looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Nothing;

impl Form for Nothing {
    type Value = ();
    type Object = ();
    type Target = ();
    type Local = ();
    type Label = ();
    type Routine = ();
    type Guard = ();
}

/// A part of an instruction, for code that handles all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    Value(Operand),
    Object(ObjectRef),
    Target(Slot),
    Local(Slot),
    Label(Label),
    Routine(ProcedureId),
    Guard(&'a Guard),
}

/// Calls a function with every part.
pub(crate) struct Visit<V>(pub(crate) V);

impl<V: FnMut(Part<'_>)> Parts<Code, Nothing> for Visit<V> {
    fn value(&mut self, value: &Operand) {
        (self.0)(Part::Value(*value));
    }

    fn object(&mut self, object: &ObjectRef) {
        (self.0)(Part::Object(*object));
    }

    fn target(&mut self, target: &Slot) {
        (self.0)(Part::Target(*target));
    }

    fn local(&mut self, local: &Slot) {
        (self.0)(Part::Local(*local));
    }

    fn label(&mut self, label: &Label) {
        (self.0)(Part::Label(*label));
    }

    fn routine(&mut self, routine: &ProcedureId) {
        (self.0)(Part::Routine(*routine));
    }

    fn guard(&mut self, guard: &Guard, _: &[Pattern]) {
        for argument in &guard.arguments {
            if let GuardArgument::Local(value) = argument {
                (self.0)(Part::Value(*value));
            }
        }
        (self.0)(Part::Guard(guard));
    }
}

/// Replaces labels and nothing else.
pub(crate) struct Relabel<L>(pub(crate) L);

impl<L: FnMut(Label) -> Label> Parts<Code, Code> for Relabel<L> {
    fn value(&mut self, value: &Operand) -> Operand {
        *value
    }

    fn object(&mut self, object: &ObjectRef) -> ObjectRef {
        *object
    }

    fn target(&mut self, target: &Slot) -> Slot {
        *target
    }

    fn local(&mut self, local: &Slot) -> Slot {
        *local
    }

    fn label(&mut self, label: &Label) -> Label {
        (self.0)(*label)
    }

    fn routine(&mut self, routine: &ProcedureId) -> ProcedureId {
        *routine
    }

    fn guard(&mut self, guard: &Guard, _: &[Pattern]) -> Guard {
        guard.clone()
    }
}
