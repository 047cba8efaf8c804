//! The values of expressions, and the visible operations in them.

use std::rc::Rc;

use selvedge_core::ViolationKind;

use super::arithmetic::{self, NoResult};
use super::operations::{self, Shared};
use super::run::{Attempt, MOST_ALTERNATIVES, Run, Stop, Turn, settle};
use super::state::{Object, Start, Status, Thread, ThreadId, Value};
use super::syntax::{Expr, ExprKind, Place, Routine};

impl Run<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) -> Result<Value, Stop> {
        let line = expr.line;
        Ok(match &expr.kind {
            ExprKind::Int(value) => Value::Int(*value),
            ExprKind::Bool(value) => Value::Bool(*value),
            ExprKind::Me => Value::Thread(self.me.clone()),
            ExprKind::Place(place) => self.place(place)?,
            ExprKind::Not(inner) => Value::Bool(!self.expr(inner)?.bool()),
            ExprKind::Minus(inner) => {
                let value = self.expr(inner)?.int();
                self.result(line, arithmetic::minus(value))?
            }
            ExprKind::Complement(inner) => {
                let value = self.expr(inner)?.int();
                self.result(line, arithmetic::complement(value))?
            }
            ExprKind::Binary(operator, left, right) => {
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                self.result(line, arithmetic::binary(*operator, &left, &right))?
            }
            ExprKind::And(left, right) => {
                if self.expr(left)?.bool() {
                    self.expr(right)?
                } else {
                    Value::Bool(false)
                }
            }
            ExprKind::Or(left, right) => {
                if self.expr(left)?.bool() {
                    Value::Bool(true)
                } else {
                    self.expr(right)?
                }
            }
            ExprKind::If(condition, then, otherwise) => {
                if self.expr(condition)?.bool() {
                    self.expr(then)?
                } else {
                    self.expr(otherwise)?
                }
            }
            ExprKind::Await(future) => self.await_future(line, future)?,
            ExprKind::Post(actor, task, arguments) => {
                self.post(line, actor.as_ref(), task, arguments)?
            }
            ExprKind::Call(name, arguments) => match self.routine(name) {
                Some(routine) => {
                    let own = self.own_index(&routine.name);
                    let values = self.arguments(&routine, arguments)?;
                    let values = own.into_iter().chain(values).collect();
                    self.call(line, &routine, values)?
                }
                None => self.built_in(line, name, arguments)?,
            },
            ExprKind::Choose(None) => self.choose(line, 2, |choice| Value::Bool(choice == 1))?,
            ExprKind::Choose(Some((low, high))) => {
                let (low, high) = (self.expr(low)?.int(), self.expr(high)?.int());
                let alternatives = i64::from(high) - i64::from(low);
                self.choose(line, alternatives, |choice| Value::Int(low + choice as i32))?
            }
            ExprKind::Spawn(name, arguments) => {
                let routine = Rc::clone(&self.program.routines[name]);
                let arguments = self.arguments(&routine, arguments)?;
                self.spawn(line, name, arguments)?
            }
        })
    }

    /// The routine with this name: in an actor, perhaps its own.
    fn routine(&self, name: &str) -> Option<Rc<Routine>> {
        let (full, _) = self.full_name(name);
        self.program.routines.get(&full).map(Rc::clone)
    }

    /// In an actor, the full name of what belongs to it, and the index of the actor if it has one.
    pub(super) fn full_name(&self, name: &str) -> (String, Option<Value>) {
        if let Some((actor, index)) = &self.actor {
            let full = format!("{actor}.{name}");
            if self.program.arrays.contains_key(&full) || self.program.routines.contains_key(&full)
            {
                return (full, index.clone());
            }
        }
        (name.to_owned(), None)
    }

    /// The index that a routine of the own actor gets before its arguments.
    fn own_index(&self, routine: &str) -> Option<Value> {
        let (_, index) = self.actor.as_ref().filter(|_| routine.contains('.'))?;
        index.clone()
    }

    fn post(
        &mut self,
        line: u32,
        actor: Option<&Place>,
        task: &str,
        arguments: &[Expr],
    ) -> Result<Value, Stop> {
        let (name, index) = match actor {
            Some(place) => {
                let index = match place.indices.first() {
                    Some(index) => Some(self.expr(index)?),
                    None => None,
                };
                let count = self.program.actors[&place.name].unwrap_or(0);
                if index.as_ref().is_some_and(|index| !(0..count).contains(&index.int())) {
                    return Err(out_of_bounds(place.line));
                }
                (place.name.clone(), index)
            }
            None => self.actor.clone().expect("a task is posted to an actor"),
        };
        let arguments = self.values(arguments)?;
        let arguments = index.into_iter().chain(arguments).collect();
        self.spawn(line, &format!("{name}.{task}"), arguments)
    }

    /// Waits for the end of a task; returns what it returned.
    pub(super) fn await_future(&mut self, line: u32, future: &Expr) -> Result<Value, Stop> {
        let future = self.expr(future)?;
        let Value::Thread(task) = future else { panic!("{future:?} is no future") };
        self.next_part(line)?;
        self.visible(line, |state, _| match state.threads[&task].status {
            Status::Ended => Attempt::Done(state.threads[&task].result.clone()),
            _ => Attempt::Blocked,
        })
    }

    fn values(&mut self, exprs: &[Expr]) -> Result<Vec<Value>, Stop> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// The value of a local variable or of the index of a replicated thread, if there is one with this name.
    pub(super) fn local(&self, name: &str) -> Option<Value> {
        self.locals.iter().rfind(|(other, _)| other == name).map(|(_, value)| value.clone())
    }

    pub(super) fn result(&self, line: u32, result: Result<Value, NoResult>) -> Result<Value, Stop> {
        result.map_err(|NoResult| Stop::Fault((ViolationKind::Arithmetic, line)))
    }

    pub(super) fn place(&mut self, place: &Place) -> Result<Value, Stop> {
        match self.local(&place.name) {
            Some(Value::Array(elements)) => {
                let at = self.position(place, elements.len())?;
                return Ok(elements[at].clone());
            }
            Some(Value::Object(..)) => {
                let shared = self.shared(place)?;
                return self.read(place.line, &shared);
            }
            Some(value) => return Ok(value),
            None => {}
        }
        if let Some(value) = self.program.constants.get(&place.name) {
            if let (Value::Table(elements), [index]) = (value, place.indices.as_slice()) {
                let index = self.expr(index)?.int();
                let element = usize::try_from(index).ok().and_then(|at| elements.get(at));
                return element.cloned().ok_or(out_of_bounds(place.line));
            }
            return Ok(value.clone());
        }
        let shared = self.shared(place)?;
        self.read(place.line, &shared)
    }

    /// Evaluates the index of a local array.
    pub(super) fn position(&mut self, place: &Place, size: usize) -> Result<usize, Stop> {
        let [index] = place.indices.as_slice() else { panic!("{} without an index", place.name) };
        let index = usize::try_from(self.expr(index)?.int()).ok();
        index.filter(|&index| index < size).ok_or(out_of_bounds(place.line))
    }

    /// Evaluates the indices of something shared, and checks them: all before anything else in the statement. What is
    /// left then is an index of a list or a key of a map, and comes after the list or map is found.
    pub(super) fn shared(&mut self, place: &Place) -> Result<Shared, Stop> {
        let (array, mut indices) = self.array(&place.name);
        let array = array.clone();
        let written = array.dimensions.len() - indices.len();
        let (outer, inner) = place.indices.split_at(written.min(place.indices.len()));
        for index in outer {
            indices.push(self.expr(index)?.int());
        }
        let object = array.element(&indices).ok_or(out_of_bounds(place.line))?;
        let inner = match inner.first() {
            Some(index) => Some(self.expr(index)?.int()),
            None => None,
        };
        Ok(Shared { object, inner })
    }

    /// Reads a variable, or an element of a list or map.
    pub(super) fn read(&mut self, line: u32, shared: &Shared) -> Result<Value, Stop> {
        let inner = shared.inner;
        self.on_object(line, shared, |object, _| operations::read(object, inner))
    }

    pub(super) fn write(&mut self, line: u32, shared: &Shared, value: Value) -> Result<(), Stop> {
        let inner = shared.inner;
        self.on_object(line, shared, |object, _| operations::write(object, inner, value))?;
        Ok(())
    }

    /// A visible operation on an object.
    pub(super) fn on_object(
        &mut self,
        line: u32,
        shared: &Shared,
        perform: impl FnOnce(&mut Object, &ThreadId) -> Attempt,
    ) -> Result<Value, Stop> {
        let belongs_to_step = self.program.is_ghost(shared.object) && self.in_step;
        self.atomic += u32::from(belongs_to_step);
        let result = self.visible(line, |state, me| perform(&mut state.objects[shared.object], me));
        self.atomic -= u32::from(belongs_to_step);
        result
    }

    fn choose(
        &mut self,
        line: u32,
        alternatives: i64,
        value: impl FnOnce(usize) -> Value,
    ) -> Result<Value, Stop> {
        match self.turn(line)? {
            Turn::Answered(value) => Ok(value),
            Turn::Now(_) if alternatives <= 0 => Err(Stop::Fault((ViolationKind::Bounds, line))),
            Turn::Now(_) if alternatives > MOST_ALTERNATIVES => Err(Stop::TooLong),
            Turn::Now(choice) => {
                self.alternatives = alternatives as usize;
                Ok(self.answer(value(choice)))
            }
        }
    }

    fn spawn(&mut self, line: u32, name: &str, arguments: Vec<Value>) -> Result<Value, Stop> {
        if let Turn::Answered(value) = self.turn(line)? {
            return Ok(value);
        }
        let parent = self.state.threads.get_mut(&self.me).expect("it runs");
        let mut child = self.me.clone();
        child.push(parent.spawned);
        parent.spawned += 1;
        let start = Start::Routine(name.to_owned(), arguments);
        self.state.threads.insert(child.clone(), Thread::new(start));
        settle(self.program, self.state, &child).map_err(|_| Stop::TooLong)?;
        Ok(self.answer(Value::Thread(child)))
    }

    fn built_in(&mut self, line: u32, name: &str, arguments: &[Expr]) -> Result<Value, Stop> {
        let is_of_list = arguments.len() == 1 && matches!(name, "min" | "max");
        if let ("min" | "max" | "abs" | "int", false) = (name, is_of_list) {
            let values = self.values(arguments)?;
            let result = arithmetic::call(name, &values).expect("it is one of these");
            return self.result(line, result);
        }
        if name == "try_send" {
            return self.try_send(line, arguments);
        }
        // To the thread, which alone moves, a fence is a step that touches nothing.
        if name == "fence" {
            return self.visible(line, |_, _| Attempt::Done(Value::Unit));
        }
        // Under sequential consistency a memory ordering decides nothing.
        let arguments = &arguments[..arguments.len().min(without_orderings(name))];
        // The first argument of all others is something shared.
        let Some((Expr { kind: ExprKind::Place(place), .. }, others)) = arguments.split_first()
        else {
            panic!("line {line}: {name} of something that is not shared");
        };
        if name == "len"
            && let Some(Value::Array(elements)) = self.local(&place.name)
        {
            return Ok(Value::Int(elements.len() as i32));
        }
        if name == "len"
            && let Some(Value::Table(elements)) = self.program.constants.get(&place.name)
        {
            return Ok(Value::Int(elements.len() as i32));
        }
        if name == "len" {
            let (array, known) = self.array(&place.name);
            let indices = place.indices.len() + known.len();
            if let Some(size) = array.dimensions.get(indices) {
                return Ok(Value::Int(*size));
            }
        }
        let shared = self.shared(place)?;
        if name == "wait" {
            let [Expr { kind: ExprKind::Place(mutex), .. }] = others else { panic!("wait(c, m)") };
            let mutex = self.shared(mutex)?;
            return self.wait(line, &shared, &mutex);
        }
        if name == "receive" {
            return self.receive_from(line, &shared);
        }
        let others = self.values(others)?;
        if name == "up" && others.first().is_some_and(|by| by.int() < 0) {
            return Err(Stop::Fault((ViolationKind::Assertion, line)));
        }
        match name {
            "load" => self.read(line, &shared),
            "store" => {
                let new = others.first().expect("store(x, v)").clone();
                self.write(line, &shared, new)?;
                Ok(Value::Unit)
            }
            "signal" => self.signal(line, &shared),
            "arrive" => self.arrive(line, &shared),
            _ => self.on_object(line, &shared, |object, me| {
                operations::built_in(name, object, &others, me)
            }),
        }
    }

    /// Releases the mutex and waits for a signal: a step; acquires the mutex again: another one.
    fn wait(&mut self, line: u32, cond: &Shared, mutex: &Shared) -> Result<Value, Stop> {
        let (cond, mutex) = (cond.object, mutex.object);
        self.visible(line, |state, me| {
            if state.objects[mutex] != Object::Mutex(Some(me.clone())) {
                return Attempt::Wrong(ViolationKind::Misuse);
            }
            state.objects[mutex] = Object::Mutex(None);
            operations::waiters(&mut state.objects[cond]).insert(me.clone());
            Attempt::Done(Value::Unit)
        })?;
        self.visible(line, |state, me| {
            if operations::waiters(&mut state.objects[cond]).contains(me)
                || state.objects[mutex] != Object::Mutex(None)
            {
                return Attempt::Blocked;
            }
            state.objects[mutex] = Object::Mutex(Some(me.clone()));
            Attempt::Done(Value::Unit)
        })
    }

    /// Wakes one waiter, chosen by the scheduler.
    fn signal(&mut self, line: u32, cond: &Shared) -> Result<Value, Stop> {
        match self.turn(line)? {
            Turn::Answered(value) => Ok(value),
            Turn::Now(choice) => {
                let waiters = operations::waiters(&mut self.state.objects[cond.object]);
                self.alternatives = waiters.len().max(1);
                if let Some(woken) = waiters.iter().nth(choice).cloned() {
                    waiters.remove(&woken);
                }
                Ok(self.answer(Value::Unit))
            }
        }
    }

    /// To arrive is one step, to go on once the barrier is open is another: also for the thread that opens it.
    fn arrive(&mut self, line: u32, barrier: &Shared) -> Result<Value, Stop> {
        let opened = self.on_object(line, barrier, |object, _| operations::arrive(object))?;
        self.on_object(line, barrier, |object, _| operations::leave(object, &opened))
    }
}

/// How many arguments a built-in routine has besides memory orderings, which come last.
fn without_orderings(name: &str) -> usize {
    match name {
        "load" => 1,
        "store" | "exchange" | "fetch_add" => 2,
        "compare_exchange" => 3,
        _ => usize::MAX,
    }
}

/// An index is out of bounds: local code knows.
pub(super) fn out_of_bounds(line: u32) -> Stop {
    Stop::Fault((ViolationKind::Bounds, line))
}
