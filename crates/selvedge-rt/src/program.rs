//! Executions of checked code, one after another: each begins anew, and may take the steps of an earlier one again.

use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use selvedge_core::{Step, ThreadId};

use crate::crash;
use crate::hooks::Hooks;
use crate::operation::Running;
use crate::runtime::{NO_SCRIPT, Runtime, Shared, State, Way};
use crate::switch::{resume, start};

/// Executions of the whole process. A stamp of 0 means: never used.
static EPOCHS: AtomicU64 = AtomicU64::new(1);

/// The code under check, driven one visible operation at a time.
pub struct Program<W: Hooks> {
    rt: *mut Runtime<W>,
    /// How many steps of this execution were taken.
    pub(crate) steps: usize,
    /// Whether an execution is under way.
    pub(crate) started: bool,
    /// Whether an execution that came to its end was run a second time.
    pub(crate) repeated: bool,
}

impl<W: Hooks> Program<W> {
    /// `tracing`: whether texts of steps will be asked for.
    pub fn new(shared: Rc<Shared<W>>, tracing: bool) -> Self {
        W::install();
        crash::install::<W>();
        let rt = Box::into_raw(Runtime::new(shared, tracing));
        // What is traced was run before.
        Self { rt, steps: 0, started: false, repeated: tracing }
    }

    /// Returns whether a thread stands at the end of a turn of a spin loop.
    pub fn ends_turn(&self, thread: ThreadId) -> bool {
        let (rt, number) = (self.rt(), thread.index());
        let is_ready = rt.threads.get(number).is_some_and(|it| it.state == State::Ready);
        is_ready && rt.now.spins.stands(number).is_some()
    }

    pub(crate) fn raw(&self) -> *mut Runtime<W> {
        self.rt
    }

    #[inline]
    pub(crate) fn rt(&self) -> &Runtime<W> {
        // SAFETY: the runtime lives as long as this, and no thread of it runs now.
        unsafe { &*self.rt }
    }

    #[inline]
    pub(crate) fn rt_mut(&mut self) -> &mut Runtime<W> {
        // SAFETY: as above, and the borrow of `self` is exclusive.
        unsafe { &mut *self.rt }
    }

    /// Ends what is left of an execution.
    pub(crate) fn finish(&mut self) {
        if !self.started {
            return;
        }
        self.started = false;
        self.rt_mut().script = NO_SCRIPT;
        // SAFETY: the runtime is alive, and no reference into it is held.
        unsafe { W::finish(self.rt) };
    }

    /// Starts again and takes the steps `kept`, which were taken before.
    pub(crate) fn replay(&mut self, kept: &[Step]) {
        // The start runs up to the first operation, and as many steps as are its own.
        self.replay_with(kept, kept, Way::Announce);
    }

    /// The same, so that states can be compared; see `aside.rs`.
    pub(crate) fn replay_aside(&mut self, kept: &[Step]) {
        self.replay_with(kept, &[], Way::Aside);
    }

    /// `script`: the steps that threads take by themselves if they come to them.
    fn replay_with(&mut self, kept: &[Step], script: &[Step], way: Way) {
        self.finish();
        let rt = self.rt_mut();
        rt.log.truncate(kept.len());
        rt.script = &raw const *script;
        rt.scripted = 0;
        self.begin(way);
        while self.rt().scripted < kept.len() {
            let step = kept[self.rt().scripted];
            let number = step.thread.index();
            if number >= self.rt().threads.len()
                || !self.rt_mut().begin_scripted(number, step.choice)
            {
                break;
            }
            // SAFETY: no reference into the runtime is held.
            unsafe { resume(self.rt, number) };
        }
        let rt = self.rt_mut();
        // Threads before the step at which it is noticed ran as they do.
        rt.script = NO_SCRIPT;
        self.steps = kept.len();
    }

    pub(crate) fn begin(&mut self, way: Way) {
        self.rt_mut().begin(EPOCHS.fetch_add(1, Ordering::Relaxed), way);
        self.steps = 0;
        self.started = true;
        let body = self.rt().shared.enter();
        // SAFETY: no reference into the runtime is held.
        unsafe { start(self.rt, 0, body) };
        // The first step shows it.
        let main = &mut self.rt_mut().threads[0];
        if main.state == State::Failed {
            main.state = State::Ready;
            main.pending = Running::one();
        }
    }
}

impl<W: Hooks> Drop for Program<W> {
    fn drop(&mut self) {
        self.finish();
        // SAFETY: it came from a box, and nothing runs any more.
        drop(unsafe { Box::from_raw(self.rt) });
    }
}
