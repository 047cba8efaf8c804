//! Where threads stand, the steps they take, and whether these are the same as before.

use selvedge_core::{ObjectId, Step};

use crate::log::{Found, Logged};
use crate::operation::{Operation, Running, Subject};
use crate::runtime::{NO_SCRIPT, Runtime};
use crate::world::World;

impl<W: World> Runtime<W> {
    /// The running thread now stands at `operation`.
    pub(crate) fn stand_at(
        &mut self,
        operation: &dyn Operation<Runtime<W>>,
        subject: Subject,
        spot: W::Spot,
    ) {
        let thread = &mut self.threads[self.now.current];
        // SAFETY: only the lifetime changes: the operation is looked at only while its thread
        // stands there.
        thread.pending = unsafe {
            std::mem::transmute::<*const dyn Operation<Self>, *const dyn Operation<Self>>(
                operation as *const dyn Operation<Self>,
            )
        };
        thread.subject = subject;
        thread.spot = spot;
    }

    /// The step of the script that comes next.
    #[inline]
    pub(crate) fn next_of_script(&self) -> Option<Step> {
        // SAFETY: the script is valid while it is followed; see `System::rewind`.
        unsafe { &*self.script }.get(self.scripted).copied()
    }

    /// Takes the pending step of a thread, which the script wants next; false if the code does not do
    /// the same as before.
    pub fn begin_scripted(&mut self, me: usize, choice: u32) -> bool {
        let spot = self.threads[me].spot;
        if !self.is_enabled(me) {
            self.note_difference(me, spot);
            return false;
        }
        self.take_scripted(me, choice, spot)
    }

    /// Takes the step at `spot`, which can run and which the script wants next; false if the code does
    /// not do the same as before.
    #[inline]
    pub(crate) fn take_scripted(&mut self, me: usize, choice: u32, spot: W::Spot) -> bool {
        match self.log.get(self.scripted) {
            Some(logged) if logged.thread as usize == me && W::is_same(logged.spot, spot) => {}
            Some(_) => {
                self.note_difference(me, spot);
                return false;
            }
            None => self.log.push(Logged::new(me, choice, spot)),
        }
        let thread = &mut self.threads[me];
        thread.begun = true;
        thread.pending = Running::one();
        thread.last_step = Some(self.scripted);
        self.scripted += 1;
        self.now.choice = choice;
        true
    }

    /// A thread takes its next step, which is new.
    #[inline]
    pub(crate) fn take(&mut self, me: usize, choice: u32) {
        let thread = &mut self.threads[me];
        thread.begun = true;
        thread.last_step = Some(self.log.len());
        self.log.push(Logged::new(me, choice, thread.spot));
        self.now.choice = choice;
    }

    /// A thread came to its next operation: after the same steps it must be the same.
    pub(crate) fn note_next(&mut self, me: usize, spot: W::Spot) {
        let last = self.threads[me].last_step;
        if let Some(logged) = last.and_then(|last| self.log.get_mut(last)) {
            match logged.next {
                Some(next) if !W::is_same(next, spot) => self.note_other_next(me, next, spot),
                _ => logged.next = Some(spot),
            }
        }
    }

    #[cold]
    fn note_other_next(&mut self, me: usize, next: W::Spot, spot: W::Spot) {
        let name = self.thread_name(me);
        self.note_unsteady(format!(
            "after the same steps {name} was at {next}, and now it is at {spot}"
        ));
    }

    /// An operation found something else than when the same steps were taken before.
    #[cold]
    pub(crate) fn note_found(
        &mut self,
        step: usize,
        then: (ObjectId, Found),
        now: (ObjectId, Found),
    ) {
        let values = [then.1, now.1].map(Found::values);
        let may_move = |&value: &u64| W::may_be_address(value);
        if then.0 == now.0 && values.iter().flatten().flatten().any(may_move) {
            // Addresses are others in each execution.
            return;
        }
        let (name, spot) = (self.thread_name(self.now.current), self.log[step].spot);
        let [then, now] = [then, now].map(|(object, found)| (self.object_name(object), found));
        let difference = match then.0 == now.0 {
            true => format!("found {}, and now {}", then.1, now.1),
            false => format!("was done to {}, and now to {}", then.0, now.0),
        };
        let number = step + 1;
        self.note_unsteady(format!(
            "step {number} of the same schedule, by {name} at {spot}, {difference}"
        ));
    }

    #[cold]
    fn note_difference(&mut self, me: usize, spot: W::Spot) {
        let then = match self.log.get(self.scripted) {
            Some(logged) => logged.spot.to_string(),
            None => "could go on".to_owned(),
        };
        let name = self.thread_name(me);
        let step = self.scripted + 1;
        self.note_unsteady(format!(
            "step {step} of the same schedule was at {then}, and now {name} is at {spot}"
        ));
        self.script = NO_SCRIPT;
    }
}
