//! Shared variables: reads, writes, read-modify-writes.
//!
//! Each has the memory ordering that was written, or none: then it is that of the variable, [`Variable::order`].

use std::fmt::{self, Formatter};

use selvedge_core::{Elsewhere, Flexibility, Footprint, Mode, Order, ViolationKind};

use super::declare::operations;
use super::{Facts, Operation, Reach, Stands, Then};
use crate::interpret::fault::{self, value_text};
use crate::interpret::{At, Done, Failure, Loaded, Machine, Reads};
use crate::ir::{Checked, Checker, Names, ObjectRef, Type};

operations! {
    /// An operation on a shared variable. Values are of its type.
    pub enum Variable {
        /// `target = variable`.
        Read { variable: F::Object, order: copy Option<Order>, target: F::Target },
        /// `variable = value`.
        Write { variable: F::Object, value: F::Value, order: copy Option<Order> },
        /// `target` = whether `variable` was `expected`; if so it becomes `new`. The first ordering is for that case, the
        /// second one for the other.
        CompareExchange {
            variable: F::Object, expected: F::Value, new: F::Value, order: copy Option<[Order; 2]>,
            target: F::Target,
        },
        /// `target` = old value of `variable`, which becomes `new`.
        Exchange {
            variable: F::Object, new: F::Value, order: copy Option<Order>, target: F::Target,
        },
        /// `target` = old value of `variable`, an integer, which grows by `delta`; faults on overflow.
        FetchAdd {
            variable: F::Object, delta: F::Value, order: copy Option<Order>, target: F::Target,
        },
    }
}

impl Variable {
    /// Returns the variable.
    #[inline]
    pub fn variable(&self) -> ObjectRef {
        match self {
            Variable::Read { variable, .. }
            | Variable::Write { variable, .. }
            | Variable::CompareExchange { variable, .. }
            | Variable::Exchange { variable, .. }
            | Variable::FetchAdd { variable, .. } => *variable,
        }
    }

    /// Returns the memory ordering that was written; of a compare-exchange, if it `succeeds` or not.
    #[inline]
    pub fn written_order(&self, succeeds: bool) -> Option<Order> {
        match *self {
            Variable::Read { order, .. }
            | Variable::Write { order, .. }
            | Variable::Exchange { order, .. }
            | Variable::FetchAdd { order, .. } => order,
            Variable::CompareExchange { order, .. } => {
                order.map(|[success, failure]| if succeeds { success } else { failure })
            }
        }
    }

    /// Returns its memory ordering: the one that was written, or [`Order::SeqCst`]. Reads and writes of a variable that is
    /// `plain`, not declared `atomic`, have none; a read-modify-write of it is atomic all the same.
    #[inline]
    pub fn order(&self, plain: bool, succeeds: bool) -> Order {
        match self {
            Variable::Read { .. } | Variable::Write { .. } if plain => Order::NonAtomic,
            _ => self.written_order(succeeds).unwrap_or(Order::SeqCst),
        }
    }

    /// Returns the orderings that were written.
    fn orders(&self) -> impl Iterator<Item = Order> + use<> {
        let failure = match *self {
            Variable::CompareExchange { order, .. } => order.map(|[_, failure]| failure),
            _ => None,
        };
        self.written_order(true).into_iter().chain(failure)
    }

    /// Returns how it accesses the variable, if that does not depend on its value.
    #[inline]
    pub(crate) fn fixed_mode(&self) -> Option<Mode> {
        match self {
            Variable::Read { .. } => Some(Mode::Read),
            Variable::Write { .. } => Some(Mode::Write),
            Variable::Exchange { .. } | Variable::FetchAdd { .. } => Some(Mode::Update),
            Variable::CompareExchange { .. } => None,
        }
    }

    /// Returns whether a compare-exchange finds what it expects; others always succeed.
    fn succeeds(&self, machine: &Machine, at: At<'_>) -> bool {
        match self {
            Variable::CompareExchange { variable, expected, .. } => {
                machine.cells[machine.cell(at, *variable)] == machine.value(at, *expected)
            }
            _ => true,
        }
    }

    fn read_modify_write(&self, machine: &mut Machine, at: At<'_>) -> Result<(), Failure> {
        let (pc, variable) = (at.thread.pc, self.variable());
        let element = machine.element(at, variable);
        let cell = machine.cell(at, variable);
        let old = machine.cells[cell];
        let (target, result, new) = match self {
            Variable::CompareExchange { target, expected, new, .. } => {
                let (expected, new) = (machine.value(at, *expected), machine.value(at, *new));
                let same = old == expected;
                machine.record.add(pc, element, old, Some(i32::from(same)), &[expected, new]);
                (target, i32::from(same), if same { new } else { old })
            }
            Variable::FetchAdd { target, delta, .. } => {
                let delta = machine.value(at, *delta);
                let Some(new) = old.checked_add(delta) else {
                    machine.record.add(pc, element, old, None, &[delta]);
                    return Err(sum_overflows(at, variable, element, old, delta));
                };
                machine.record.add(pc, element, old, Some(old), &[delta]);
                (target, old, new)
            }
            Variable::Exchange { target, new, .. } => {
                let new = machine.value(at, *new);
                machine.record.add(pc, element, old, Some(old), &[new]);
                (target, old, new)
            }
            Variable::Read { .. } | Variable::Write { .. } => return Ok(()),
        };
        if new != old {
            machine.set_cell(cell as u32, new);
        }
        machine.set_target(at, *target, result);
        Ok(())
    }
}

impl Operation for Variable {
    fn facts(&self) -> Facts {
        let stands = Stands::InLooks;
        match self {
            Variable::Read { .. } => {
                Facts { stands, finds: true, reach: Reach::Reads, ..Facts::STEP }
            }
            Variable::Write { .. } | Variable::CompareExchange { .. } => {
                Facts { stands, ..Facts::STEP }
            }
            Variable::Exchange { .. } => Facts { stands, finds: true, ..Facts::STEP },
            Variable::FetchAdd { .. } => {
                Facts { stands, finds: true, may_fault: true, ..Facts::STEP }
            }
        }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        let ty = checker.variable(self.variable())?;
        match *self {
            Variable::Read { target, .. } => checker.slot(target, ty),
            Variable::Write { value, .. } => checker.operand(value, ty),
            Variable::CompareExchange { target, expected, new, .. } => {
                checker.slot(target, Type::Bool)?;
                checker.operand(expected, ty)?;
                checker.operand(new, ty)
            }
            Variable::Exchange { target, new, .. } => {
                checker.slot(target, ty)?;
                checker.operand(new, ty)
            }
            Variable::FetchAdd { target, delta, .. } => {
                if ty != Type::Int {
                    return Err("adds to what is no integer".to_owned());
                }
                checker.slot(target, Type::Int)?;
                checker.operand(delta, Type::Int)
            }
        }
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        let variable = names.object(self.variable());
        match self {
            Variable::Read { .. } => write!(f, "read {variable}"),
            Variable::Write { value, .. } => write!(f, "write {variable} {value}"),
            Variable::CompareExchange { expected, new, .. } => {
                write!(f, "compare_exchange {variable} {expected} {new}")
            }
            Variable::Exchange { new, .. } => write!(f, "exchange {variable} {new}"),
            Variable::FetchAdd { delta, .. } => write!(f, "fetch_add {variable} {delta}"),
        }?;
        self.orders().try_for_each(|order| write!(f, " {}", order_word(order)))
    }

    #[inline]
    fn footprint(&self, machine: &mut Machine, at: At<'_>, _: u32, footprint: &mut Footprint) {
        let variable = self.variable();
        let mode = match self {
            Variable::CompareExchange { .. } => {
                if self.succeeds(machine, at) {
                    Mode::Update
                } else {
                    Mode::Read
                }
            }
            _ => self.fixed_mode().unwrap_or(Mode::Update),
        };
        footprint.add(machine.object(at, variable), mode);
    }

    fn flexibility(&self, _: &Machine, _: At<'_>) -> Flexibility {
        match self {
            Variable::CompareExchange { .. } => Flexibility::Conditional,
            _ => Flexibility::Fixed,
        }
    }

    fn elsewhere(&self, machine: &Machine, at: At<'_>) -> Elsewhere {
        match self {
            Variable::CompareExchange { .. } if !self.succeeds(machine, at) => Elsewhere::Anything,
            _ => Elsewhere::AtMostThis,
        }
    }

    fn memory_order(&self, machine: &Machine, at: At<'_>) -> Option<Order> {
        let plain = at.loaded.globals[self.variable().global.index()].plain;
        Some(self.order(plain, self.succeeds(machine, at)))
    }

    #[inline]
    fn execute(&self, machine: &mut Machine, at: At<'_>, _: u32) -> Result<Then, Failure> {
        match self {
            Variable::Read { target, variable, .. } => {
                let element = machine.element(at, *variable);
                let found = machine.cells[at.loaded.cell(*variable, element)];
                machine.set_target(at, *target, found);
                machine.record.add(at.thread.pc, element, 0, Some(found), &[]);
            }
            Variable::Write { variable, value, .. } => {
                let element = machine.element(at, *variable);
                let cell = at.loaded.cell(*variable, element);
                let (old, new) = (machine.cells[cell], machine.value(at, *value));
                machine.set_cell(cell as u32, new);
                machine.record.add(at.thread.pc, element, old, Some(new), &[]);
            }
            _ => self.read_modify_write(machine, at)?,
        }
        Ok(Then::Next)
    }

    fn arguments(&self, machine: &Machine, at: At<'_>) -> Vec<i32> {
        match self {
            Variable::Read { .. } => Vec::new(),
            Variable::Write { value, .. }
            | Variable::Exchange { new: value, .. }
            | Variable::FetchAdd { delta: value, .. } => vec![machine.value(at, *value)],
            Variable::CompareExchange { expected, new, .. } => {
                machine.values(at, &[*expected, *new])
            }
        }
    }

    fn text(&self, _: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let variable = self.variable();
        let ty = loaded.program.globals[variable.global.index()].value_type();
        let name = loaded.name(variable, done.element);
        let shown = |value| value_text(&loaded.program, value, ty);
        let with_result = |text: String| match done.result {
            Some(result) => format!("{text} → {}", shown(result)),
            None => text,
        };
        let arguments: Vec<_> = done.values.iter().map(|&value| shown(value)).collect();
        let mut arguments = arguments.join(", ");
        let mut orders = String::new();
        self.orders().for_each(|order| orders.push_str(&format!(", {}", order_word(order))));
        arguments.push_str(&orders);
        match self {
            Variable::Read { order: None, .. } => with_result(format!("read {name}")),
            Variable::Read { .. } => with_result(format!("load({name}{orders})")),
            Variable::Write { order, .. } => {
                let new = done.result.or(done.values.first().copied()).unwrap_or(0);
                let new = shown(new);
                match order {
                    None => format!("{name} = {new}"),
                    Some(_) => format!("store({name}, {new}{orders})"),
                }
            }
            Variable::CompareExchange { .. } => {
                done.with_result(format!("compare_exchange({name}, {arguments})"), Type::Bool)
            }
            Variable::Exchange { .. } => with_result(format!("exchange({name}, {arguments})")),
            Variable::FetchAdd { .. } => with_result(format!("fetch_add({name}, {arguments})")),
        }
    }

    fn text_inside(&self, machine: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let (Variable::Write { variable, .. }, Some(new)) = (self, done.result) else {
            return self.text(machine, loaded, done);
        };
        let ty = loaded.program.globals[variable.global.index()].value_type();
        let name = loaded.name(*variable, done.element);
        let shown = |value| value_text(&loaded.program, value, ty);
        format!("{name} {} → {}", shown(done.old), shown(new))
    }

    fn decides(&self, reads: &mut Reads) {
        if !matches!(self, Variable::Write { .. }) {
            reads.places.push(self.variable());
        }
    }
}

/// Returns how an ordering is written.
pub(crate) fn order_word(order: Order) -> &'static str {
    match order {
        Order::NonAtomic | Order::Unseen => "plain",
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acq_rel",
        Order::SeqCst => "seq_cst",
    }
}

#[cold]
fn sum_overflows(at: At<'_>, variable: ObjectRef, element: u32, old: i32, delta: i32) -> Failure {
    let name = at.loaded.name(variable, element as usize);
    let message = format!("`fetch_add({name}, {delta})` overflows 32 bits ({name} = {old})");
    fault::violation(at.loaded, at.thread.pc, ViolationKind::Arithmetic, message)
}
