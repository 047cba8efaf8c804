//! Threads that tell another one of an end.

use super::run::{Attempt, Run, Stop, Turn, settle};
use super::state::{Start, Status, Thread, Value, Watch};
use super::syntax::{Expr, Target};

impl Run<'_> {
    /// `monitor t(1, v);`: one step, which starts the thread that tells.
    pub(super) fn monitor(
        &mut self,
        line: u32,
        target: &Target,
        values: &[Expr],
    ) -> Result<(), Stop> {
        let watched = self.target(line, target)?;
        let mut message = Vec::new();
        for value in values {
            message.push(self.expr(value)?.sent());
        }
        if let Turn::Answered(_) = self.turn(line)? {
            return Ok(());
        }
        let parent = self.state.threads.get_mut(&self.me).expect("it runs");
        let mut child = self.me.clone();
        child.push(parent.spawned);
        parent.spawned += 1;
        let watch = Watch { watched, told: self.me.clone(), message, line };
        self.state.threads.insert(child.clone(), Thread::new(Start::Watch(watch)));
        settle(self.program, self.state, &child).map_err(|_| Stop::TooLong)?;
        self.answer(Value::Unit);
        Ok(())
    }

    /// Waits for the end, and then sends the message if the receiver has not ended.
    pub(super) fn watch(&mut self, watch: &Watch) -> Result<(), Stop> {
        self.visible(watch.line, |state, _| match state.threads[&watch.watched].status {
            Status::Ended => Attempt::Done(Value::Unit),
            _ => Attempt::Blocked,
        })?;
        self.visible(watch.line, |state, _| {
            let told = state.threads.get_mut(&watch.told).expect("it monitors");
            if matches!(told.status, Status::Before(_)) {
                told.mailbox.push(watch.message.clone());
            }
            Attempt::Done(Value::Unit)
        })?;
        Ok(())
    }
}
