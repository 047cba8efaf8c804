//! What statements do.

use selvedge_core::ViolationKind;

use super::arithmetic;
use super::expressions::out_of_bounds;
use super::operations::{self, Shared};
use super::run::{Attempt, Flow, Run, Stop, Turn};
use super::state::{Object, Status, ThreadId, Value};
use super::syntax::{
    Arm, Block, Expr, ExprKind, Initial, LockOp, Operator, Pattern, Place, Stmt, StmtKind, Target,
};

impl Run<'_> {
    pub(super) fn statement(&mut self, statement: &Stmt) -> Result<Flow, Stop> {
        let line = statement.line;
        match &statement.kind {
            StmtKind::Skip => {}
            StmtKind::Let(name, value) => {
                let value = self.expr(value)?;
                self.locals.push((name.clone(), value));
            }
            StmtKind::LetArray(name, size, initial) => {
                let size = self.expr(size)?.int() as usize;
                let elements = match initial {
                    Initial::All(value) => vec![self.expr(value)?; size],
                    Initial::List(items) => {
                        items.iter().map(|item| self.one_value(item)).collect::<Result<_, _>>()?
                    }
                    other => panic!("{other:?} is no local array"),
                };
                self.locals.push((name.clone(), Value::Array(elements)));
            }
            StmtKind::Assign(place, operator, value) => {
                self.assign(line, place, *operator, value)?
            }
            StmtKind::If(condition, then, otherwise) => {
                let block = if self.expr(condition)?.bool() { then } else { otherwise };
                return self.block(block);
            }
            StmtKind::While(condition, body) => {
                while self.expr(condition)?.bool() {
                    self.tick()?;
                    match self.block(body)? {
                        Flow::Next | Flow::Continue(_) => {}
                        Flow::Break(_) => break,
                        flow @ Flow::Return(..) => return Ok(flow),
                    }
                }
            }
            StmtKind::For(name, low, high, body) => return self.count(name, low, high, body),
            StmtKind::ForEach(name, list, body) => return self.each(line, name, list, body),
            StmtKind::Break => return Ok(Flow::Break(line)),
            StmtKind::Continue => return Ok(Flow::Continue(line)),
            StmtKind::Return(None) => return Ok(Flow::Return(line, Value::Unit)),
            StmtKind::Return(Some(value)) => return Ok(Flow::Return(line, self.expr(value)?)),
            StmtKind::Assert(condition) => {
                if !self.expr(condition)?.bool() {
                    return Err(Stop::Fault((ViolationKind::Assertion, line)));
                }
            }
            StmtKind::Assume(condition) => {
                if !self.expr(condition)?.bool() {
                    return Err(Stop::Assumed);
                }
            }
            StmtKind::Scan(condition) => {
                if !self.expr(condition)?.bool() {
                    self.wait_until(line, |run| run.expr(condition))?;
                }
            }
            StmtKind::Await(what) if self.is_future(what) => {
                self.await_future(line, what)?;
            }
            StmtKind::Await(condition) => {
                self.next_part(line)?;
                self.wait_until(line, |run| run.expr(condition))?;
            }
            StmtKind::Atomic(body) => return self.atomically(line, |run| run.block(body)),
            StmtKind::Lock(op, place) => {
                let lock = self.shared(place)?;
                self.lock(line, *op, &lock)?;
            }
            StmtKind::Locked(op, place, body, end) => {
                let lock = self.shared(place)?;
                self.lock(line, *op, &lock)?;
                // On every exit, where the block is left.
                let flow = self.block(body)?;
                let exit = match flow {
                    Flow::Next => *end,
                    Flow::Break(line) | Flow::Continue(line) | Flow::Return(line, _) => line,
                };
                self.lock(exit, op.release(), &lock)?;
                return Ok(flow);
            }
            StmtKind::Join(target) => {
                let target = self.target(line, target)?;
                self.visible(line, |state, _| match state.threads[&target].status {
                    Status::Ended => Attempt::Done(Value::Unit),
                    _ => Attempt::Blocked,
                })?;
            }
            StmtKind::Send(target, values) => self.send(line, target, values)?,
            StmtKind::Monitor(target, values) => self.monitor(line, target, values)?,
            StmtKind::Receive(arms, after) => return self.receive(line, arms, after.as_ref()),
            StmtKind::Yield => {
                self.visible(line, |_, _| Attempt::Done(Value::Unit))?;
            }
            StmtKind::Expr(call) => {
                self.expr(call)?;
            }
            StmtKind::Block(block) => return self.block(block),
        }
        Ok(Flow::Next)
    }

    fn assign(
        &mut self,
        line: u32,
        place: &Place,
        operator: Option<Operator>,
        value: &Expr,
    ) -> Result<(), Stop> {
        if self.program.unread.contains(&place.name) {
            return Ok(());
        }
        let local = self.local(&place.name).filter(|_| !self.is_shared(&place.name));
        // From left to right: the indices, the old value, the new one.
        let target = if local.is_some() { None } else { Some(self.shared(place)?) };
        let (local, at) = match local {
            Some(Value::Array(elements)) => {
                let at = self.position(place, elements.len())?;
                (Some(elements[at].clone()), Some(at))
            }
            local => (local, None),
        };
        let old = match (operator, &target) {
            (None, _) => None,
            (Some(_), None) => local,
            (Some(_), Some(shared)) => Some(self.read(line, shared)?),
        };
        let mut value = self.expr(value)?;
        if let (Some(operator), Some(old)) = (operator, old) {
            value = self.result(line, arithmetic::binary(operator, &old, &value))?;
        }
        match target {
            Some(shared) => self.write(line, &shared, value),
            None => {
                let local = self.locals.iter_mut().rfind(|(name, _)| *name == place.name);
                match (&mut local.expect("found before").1, at) {
                    (Value::Array(elements), Some(at)) => elements[at] = value,
                    (local, _) => *local = value,
                }
                Ok(())
            }
        }
    }

    fn one_value(&mut self, initial: &Initial) -> Result<Value, Stop> {
        match initial {
            Initial::All(value) => self.expr(value),
            other => panic!("{other:?} is no element of a local array"),
        }
    }

    fn count(&mut self, name: &str, low: &Expr, high: &Expr, body: &Block) -> Result<Flow, Stop> {
        let (low, high) = (self.expr(low)?.int(), self.expr(high)?.int());
        for index in low..high {
            self.tick()?;
            let outer = self.locals.len();
            self.locals.push((name.to_owned(), Value::Int(index)));
            let flow = self.block(body)?;
            self.locals.truncate(outer);
            match flow {
                Flow::Next | Flow::Continue(_) => {}
                Flow::Break(_) => break,
                Flow::Return(..) => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    /// One step finds the next element, or that there is none.
    fn each(&mut self, line: u32, name: &str, list: &Place, body: &Block) -> Result<Flow, Stop> {
        let list = self.shared(list)?;
        for index in 0.. {
            self.tick()?;
            let next = self.on_object(line, &list, |object, _| match object {
                Object::List(items) => {
                    Attempt::Done(items.get(index).map_or(Value::Unit, |&item| Value::Int(item)))
                }
                other => panic!("{other:?} is no list"),
            })?;
            if next == Value::Unit {
                break;
            }
            let outer = self.locals.len();
            self.locals.push((name.to_owned(), next));
            let flow = self.block(body)?;
            self.locals.truncate(outer);
            match flow {
                Flow::Next | Flow::Continue(_) => {}
                Flow::Break(_) => break,
                Flow::Return(..) => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn lock(&mut self, line: u32, op: LockOp, lock: &Shared) -> Result<(), Stop> {
        self.on_object(line, lock, |object, me| operations::lock(op, object, me)).map(|_| ())
    }

    /// The thread with this name, or with this handle.
    pub(super) fn target(&mut self, line: u32, target: &Target) -> Result<ThreadId, Stop> {
        let Target::Named(place) = target else { return Ok(self.me.clone()) };
        if self.local(&place.name).is_some() {
            let value = self.place(place)?;
            let Value::Thread(thread) = value else { panic!("{value:?} is no thread") };
            return Ok(thread);
        }
        let index = match place.indices.first() {
            Some(index) => Some(self.expr(index)?.int()),
            None => None,
        };
        let number = self.program.threads.iter().position(|thread| {
            thread.declared == place.name && thread.index.as_ref().map(|(_, value)| *value) == index
        });
        match number {
            Some(number) => Ok(vec![number as u32]),
            None => Err(out_of_bounds(line)),
        }
    }

    fn send(&mut self, line: u32, target: &Target, values: &[Expr]) -> Result<(), Stop> {
        if let (Target::Named(place), [value]) = (target, values)
            && self.is_shared(&place.name)
        {
            let channel = self.shared(place)?;
            let value = self.expr(value)?.sent();
            return self.send_to(line, &channel, value);
        }
        let target = self.target(line, target)?;
        let mut message = Vec::new();
        for value in values {
            message.push(self.expr(value)?.sent());
        }
        self.visible(line, |state, _| {
            let thread = state.threads.get_mut(&target).expect("a handle is that of a thread");
            match thread.status {
                Status::Ended | Status::Failed => return Attempt::Wrong(ViolationKind::Misuse),
                Status::Before(_) => thread.mailbox.push(message),
                // It will never receive it.
                Status::Assumed => {}
            }
            Attempt::Done(Value::Unit)
        })?;
        Ok(())
    }

    /// Returns whether the thread has not ended; then it gets the message.
    pub(super) fn try_send(&mut self, line: u32, arguments: &[Expr]) -> Result<Value, Stop> {
        let Some((Expr { kind: ExprKind::Place(place), .. }, values)) = arguments.split_first()
        else {
            panic!("line {line}: `try_send` to something else")
        };
        let target = self.target(line, &Target::Named(place.clone()))?;
        let mut message = Vec::new();
        for value in values {
            message.push(self.expr(value)?.sent());
        }
        self.visible(line, |state, _| {
            let thread = state.threads.get_mut(&target).expect("a handle is that of a thread");
            let runs = !matches!(thread.status, Status::Ended | Status::Failed);
            if matches!(thread.status, Status::Before(_)) {
                thread.mailbox.push(message);
            }
            Attempt::Done(Value::Bool(runs))
        })
    }

    /// Waits for room; a lossy channel may lose the value.
    fn send_to(&mut self, line: u32, channel: &Shared, value: i32) -> Result<(), Stop> {
        let Turn::Now(choice) = self.turn(line)? else { return Ok(()) };
        let Object::Channel { capacity, lossy, values, .. } =
            &mut self.state.objects[channel.object]
        else {
            panic!("line {line}: `send` to something else")
        };
        if values.len() as i32 >= *capacity {
            return Err(Stop::Blocked(line));
        }
        self.alternatives = if *lossy { 2 } else { 1 };
        if choice == 0 {
            values.push(value);
        }
        self.answer(Value::Unit);
        Ok(())
    }

    /// Waits for a value: the oldest one, or any one of a reordering channel.
    pub(super) fn receive_from(&mut self, line: u32, channel: &Shared) -> Result<Value, Stop> {
        let choice = match self.turn(line)? {
            Turn::Answered(value) => return Ok(value),
            Turn::Now(choice) => choice,
        };
        let Object::Channel { reordering, values, .. } = &mut self.state.objects[channel.object]
        else {
            panic!("line {line}: `receive` from something else")
        };
        if values.is_empty() {
            return Err(Stop::Blocked(line));
        }
        self.alternatives = if *reordering { values.len() } else { 1 };
        let value = values.remove(choice);
        Ok(self.answer(Value::Int(value)))
    }

    fn receive(&mut self, line: u32, arms: &[Arm], after: Option<&Block>) -> Result<Flow, Stop> {
        // The expressions in patterns are local code before the step, the guards are evaluated in it.
        let mut wanted = Vec::new();
        for arm in arms {
            wanted.push(self.wanted(&arm.patterns)?);
        }
        let taken = match self.turn(line)? {
            Turn::Answered(answer) => answer,
            Turn::Now(_) => match self.oldest(arms, &wanted)? {
                Some((place, arm)) => {
                    let thread = self.state.threads.get_mut(&self.me).expect("it runs");
                    let message = thread.mailbox.remove(place);
                    self.answer(Value::Message(arm, message))
                }
                None if after.is_some() => self.answer(Value::Unit),
                None => return Err(Stop::Blocked(line)),
            },
        };
        match (taken, after) {
            (Value::Message(arm, message), _) => {
                let outer = self.locals.len();
                self.bind(&arms[arm].patterns, &message);
                let flow = self.block(&arms[arm].body)?;
                self.locals.truncate(outer);
                Ok(flow)
            }
            (_, Some(after)) => self.block(after),
            (other, None) => panic!("`receive` returns {other:?}"),
        }
    }

    /// The values that a message must have to match, where that is not any value.
    fn wanted(&mut self, patterns: &[Pattern]) -> Result<Vec<Option<i32>>, Stop> {
        let mut wanted = Vec::new();
        for pattern in patterns {
            wanted.push(match pattern {
                Pattern::Equal(expr) => Some(self.expr(expr)?.sent()),
                Pattern::Any | Pattern::Bind(_) => None,
            });
        }
        Ok(wanted)
    }

    /// The oldest message that matches, and the first branch that it matches.
    fn oldest(
        &mut self,
        arms: &[Arm],
        wanted: &[Vec<Option<i32>>],
    ) -> Result<Option<(usize, usize)>, Stop> {
        let mailbox = self.state.threads[&self.me].mailbox.clone();
        for (place, message) in mailbox.iter().enumerate() {
            for (number, arm) in arms.iter().enumerate() {
                let fits = |(wanted, value): (&Option<i32>, &i32)| {
                    wanted.is_none_or(|wanted| wanted == *value)
                };
                let wanted = &wanted[number];
                if wanted.len() == message.len()
                    && wanted.iter().zip(message).all(fits)
                    && self.guard(arm, message)?
                {
                    return Ok(Some((place, number)));
                }
            }
        }
        Ok(None)
    }

    fn guard(&mut self, arm: &Arm, message: &[i32]) -> Result<bool, Stop> {
        let Some(guard) = &arm.guard else { return Ok(true) };
        let outer = self.locals.len();
        self.bind(&arm.patterns, message);
        let holds = self.expr(guard)?.bool();
        self.locals.truncate(outer);
        Ok(holds)
    }

    fn bind(&mut self, patterns: &[Pattern], message: &[i32]) {
        for (pattern, value) in patterns.iter().zip(message) {
            if let Pattern::Bind(name) = pattern {
                self.locals.push((name.clone(), Value::Int(*value)));
            }
        }
    }
}
