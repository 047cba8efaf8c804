//! Races of steps of which it is known what they can touch elsewhere: [`Elsewhere`](selvedge_core::Elsewhere).
//!
//! Let `f'` be a step that touches at most the same elsewhere, and `f` what it does before `e`, after `W`. What comes last in `W` is
//! known to the thread of `f`, or conflicts with `f`, hence with `f'`. So if `f'` runs after `e` and `W`, then `W` is exactly what
//! happens before `f'`, and nothing has to be tried but `f` itself; often not even that.

use selvedge_core::{
    Flexibility, Footprint, Mode, Position, Step, System, commute, may_enable_only,
};

use super::Search;
use super::children::Later;
use super::pasts::{Trial, try_out};

impl<S: System> Search<'_, S> {
    /// Returns whether `later`, which touches no more elsewhere, may run before `e`, which it conflicts with, and after the rest of
    /// what happens before it: not if `e` is what it waits for.
    pub(super) fn can_precede(&self, later: &Later, e: Position) -> bool {
        let mut conflicts = self.conflicts(later, e);
        !(later.flexibility == Flexibility::Blocking
            && conflicts.all(|(earlier, mode)| may_enable_only(earlier, mode)))
    }

    /// Returns whether `later`, which touches no more elsewhere, may conflict with `e` where it runs before that, whatever else has
    /// happened. Without giving up a lock the thread of `e` still has it.
    pub(super) fn can_do_without(&self, later: &Later, e: Position) -> bool {
        let gives_up = |mode| matches!(mode, Mode::Release | Mode::ShareRelease);
        let waits = |(earlier, mode)| gives_up(earlier) && may_enable_only(earlier, mode);
        self.conflicts(later, e)
            .any(|pair| !(later.flexibility == Flexibility::Blocking && waits(pair)))
    }

    /// Returns whether `later`, which touches no more elsewhere, does the same without `e`: it does not look at what `e` has changed.
    pub(super) fn is_blind(&self, later: &Later, e: Position) -> bool {
        let is_blind = |mode| matches!(mode, Mode::Write | Mode::Send | Mode::Post);
        self.run.execution.event(later.at).choices == 1
            && self.conflicts(later, e).all(|(_, mode)| is_blind(mode))
    }

    /// The modes in which `e` and `later` touch objects that make them conflict.
    fn conflicts(&self, later: &Later, e: Position) -> impl Iterator<Item = (Mode, Mode)> {
        let theirs = self.run.execution.accesses(e).iter();
        theirs.flat_map(|a| {
            let same = later.accesses.iter().filter(move |b| a.object == b.object);
            same.map(move |b| (a.mode, b.mode)).filter(|&(a, b)| !commute(a, b))
        })
    }

    /// Returns whether `later` takes a message that `e` has sent, and no other message is in the mailbox without `e`: what comes
    /// after `e` and is sent there happens after it, and the thread has taken as many as were sent before.
    pub(super) fn finds_nothing(&self, later: &Later, e: Position) -> bool {
        let execution = &self.run.execution;
        let sent = execution.accesses(e);
        let is_sent = later.accesses.iter().any(|own| {
            own.mode == Mode::Take
                && sent.iter().any(|a| a.object == own.object && a.mode == Mode::Post)
        });
        let mut mailboxes = sent.iter().filter(|a| a.mode == Mode::Send).map(|a| a.object);
        let (true, Some(mailbox), None) = (is_sent, mailboxes.next(), mailboxes.next()) else {
            return false;
        };
        let count = |x: Position, mode: Mode| {
            execution.accesses(x).iter().filter(|access| access.mode == mode).count()
        };
        // A step that sends several messages touches the mailbox once.
        let before = execution.history(mailbox, e).filter(|(_, access)| access.mode == Mode::Send);
        let posted: usize = before.map(|(x, _)| count(x, Mode::Post)).sum();
        let own = execution.of_thread(later.thread).iter().take_while(|&&x| x < later.at);
        let taken: usize = own.map(|&x| count(x, Mode::Take)).sum();
        posted <= taken
    }

    /// Offers what puts `e` off for `later`, which touches no more elsewhere, and ran after `e` and `past`.
    pub(super) fn reverse_bounded(&mut self, later: &Later, e: Position, past: &[Position]) {
        let thread = later.thread;
        let Trial::Enabled(alternatives) = try_out(&mut self.run, e.index(), past, thread) else {
            return;
        };
        let put_off = self.run.execution.accesses(e);
        let steps = (0..).map(|choice| Step { thread, choice });
        let is_head = |(step, it): &(Step, &Footprint)| {
            self.is_head(e.index(), put_off, past, *step, it.accesses())
        };
        if let Some((step, footprint)) = steps.zip(&alternatives).find(is_head) {
            self.offer(e, past, step, footprint.accesses());
        }
    }
}
