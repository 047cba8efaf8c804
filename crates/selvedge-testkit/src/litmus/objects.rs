//! Condition variables and mailboxes in litmus tests.
//!
//! They exist in the modelling language ([`model_of`](super::model_of)) and in the axioms, which were written from its
//! documentation. The other machines do not have them.

use super::{Instruction, LitmusProgram, REGISTERS, Value};

/// An operation on a condition variable or a mailbox.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Meeting {
    /// Begins to wait at a condition variable. The next instruction releases the mutex, in the same step.
    Enter(usize),
    /// Waits there until it is woken. The next instruction takes the mutex again.
    Woken(usize),
    /// Wakes one waiter, if there is one.
    Signal(usize),
    /// Wakes all.
    Broadcast(usize),
    /// Sends a value to a thread, which has to be there.
    Send(usize, Value),
    /// Takes the oldest message, or the oldest with this value; waits if there is none.
    Receive(usize, Option<i64>),
    /// The same, but does not wait: the register is then -1.
    Poll(usize, Option<i64>),
    /// The end of the thread, after which no thread sends to it. It is in no code, and one step with the operation before it.
    Close,
}

impl Meeting {
    /// The register that it writes.
    pub(super) fn register(self) -> Option<usize> {
        match self {
            Meeting::Receive(into, _) | Meeting::Poll(into, _) => Some(into),
            _ => None,
        }
    }

    /// The condition variable that it is about.
    pub fn condition(self) -> Option<usize> {
        match self {
            Meeting::Enter(condition)
            | Meeting::Woken(condition)
            | Meeting::Signal(condition)
            | Meeting::Broadcast(condition) => Some(condition),
            _ => None,
        }
    }

    /// The thread whose mailbox it is about, if `own` does it.
    pub fn mailbox(self, own: usize) -> Option<usize> {
        match self {
            Meeting::Send(thread, _) => Some(thread),
            Meeting::Receive(..) | Meeting::Poll(..) | Meeting::Close => Some(own),
            _ => None,
        }
    }
}

/// `wait(condition, mutex)`.
pub fn wait(condition: usize, mutex: usize) -> [Instruction; 4] {
    [
        Instruction::Meet(Meeting::Enter(condition)),
        Instruction::Unlock(mutex),
        Instruction::Meet(Meeting::Woken(condition)),
        Instruction::Lock(mutex),
    ]
}

/// Whether these instructions begin with a whole `wait`: its mutex.
pub(super) fn waits_with(code: &[Instruction]) -> Option<usize> {
    match *code {
        [Instruction::Meet(Meeting::Enter(condition)), Instruction::Unlock(mutex), ..]
            if code.starts_with(&wait(condition, mutex)) =>
        {
            Some(mutex)
        }
        _ => None,
    }
}

impl LitmusProgram {
    fn meetings(&self) -> impl Iterator<Item = Meeting> {
        self.threads.iter().flatten().filter_map(|one| match *one {
            Instruction::Meet(meeting) => Some(meeting),
            _ => None,
        })
    }

    /// How many condition variables there are; they have the locations behind the mutexes.
    pub fn conditions(&self) -> usize {
        self.meetings().filter_map(Meeting::condition).max().map_or(0, |last| last + 1)
    }

    /// Whether there are mailboxes: one for each thread, with the locations behind everything else.
    pub fn has_mailboxes(&self) -> bool {
        self.meetings().any(|meeting| meeting.condition().is_none())
    }

    /// Whether there is anything that only models and axioms have.
    pub fn has_meetings(&self) -> bool {
        self.meetings().next().is_some()
    }

    /// The location of a meeting of a thread.
    pub fn meeting_place(&self, meeting: Meeting, thread: usize) -> usize {
        let before = self.variables() + self.mutexes();
        match (meeting.condition(), meeting.mailbox(thread)) {
            (Some(condition), _) => before + condition,
            (None, of) => before + self.conditions() + of.unwrap_or(thread),
        }
    }

    /// The location of the mailbox of a thread.
    pub fn mailbox(&self, thread: usize) -> usize {
        self.variables() + self.mutexes() + self.conditions() + thread
    }
}

/// Who waits at a condition variable, as bits; and the messages of a mailbox, the oldest in the highest digit behind a leading 1.
pub mod state {
    /// No message.
    pub const EMPTY: i64 = 1;
    /// The thread has ended.
    pub const CLOSED: i64 = -1;
    const DIGIT: i64 = 16;

    /// With a message behind all others; none if it is no digit, or there is no room.
    pub fn with(mailbox: i64, message: i64) -> Option<i64> {
        let fits = (0..DIGIT).contains(&message) && mailbox < i64::MAX / DIGIT / DIGIT;
        fits.then_some(mailbox * DIGIT + message)
    }

    /// The oldest message that is wanted, and the mailbox without it.
    pub fn without(mailbox: i64, wanted: Option<i64>) -> Option<(i64, i64)> {
        let mut weight = 1;
        while weight * DIGIT <= mailbox {
            weight *= DIGIT;
        }
        // The leading 1 has this weight; the oldest message is the digit behind it.
        while weight > 1 {
            let newer = weight / DIGIT;
            let message = mailbox / newer % DIGIT;
            if wanted.is_none_or(|wanted| wanted == message) {
                let rest = mailbox / weight * newer + mailbox % newer;
                return Some((message, rest));
            }
            weight = newer;
        }
        None
    }

    #[cfg(test)]
    mod tests {
        use super::{EMPTY, with, without};

        #[test]
        fn the_oldest_that_matches() {
            let all = [3, 5, 3, 0].iter().try_fold(EMPTY, |all, &message| with(all, message));
            let all = all.expect("they fit");
            let (first, rest) = without(all, None).expect("there is one");
            assert_eq!((first, without(rest, Some(7))), (3, None));
            let (five, rest) = without(rest, Some(5)).expect("it is there");
            assert_eq!((five, without(rest, None).map(|it| it.0)), (5, Some(3)));
            let (zero, rest) = without(rest, Some(0)).expect("it is there");
            assert_eq!((zero, without(rest, Some(3))), (0, Some((3, EMPTY))));
            assert_eq!(without(EMPTY, None), None);
        }
    }
}

/// What an instruction does with what it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// What it writes; none if it only reads.
    pub writes: Option<i64>,
    /// What its register is then.
    pub answer: i64,
    /// Whether that is an error: it sent to a thread that has ended.
    pub fails: bool,
}

/// What an operation of a thread can do if it finds this in its place: nothing, if it has to wait.
pub fn outcomes_of(
    meeting: Meeting,
    thread: usize,
    found: i64,
    registers: &[i64; REGISTERS],
) -> Vec<Done> {
    let writes = |new: i64, answer: i64| Done { writes: Some(new), answer, fails: false };
    let reads = |answer: i64| Done { writes: None, answer, fails: false };
    match meeting {
        Meeting::Enter(_) => vec![writes(found | 1 << thread, 0)],
        Meeting::Signal(_) if found == 0 => vec![writes(0, 0)],
        Meeting::Signal(_) => {
            let waiters = (0..63).filter(|waiter| found >> waiter & 1 == 1);
            waiters.map(|waiter| writes(found & !(1 << waiter), 0)).collect()
        }
        Meeting::Broadcast(_) => vec![writes(0, 0)],
        Meeting::Send(..) if found == state::CLOSED => {
            vec![Done { fails: true, ..writes(found, 0) }]
        }
        Meeting::Send(_, value) => {
            let message = value.of(registers);
            state::with(found, message).map(|new| writes(new, 0)).into_iter().collect()
        }
        Meeting::Receive(_, wanted) | Meeting::Poll(_, wanted) => {
            match state::without(found, wanted) {
                Some((message, rest)) => vec![writes(rest, message)],
                None if matches!(meeting, Meeting::Poll(..)) => vec![reads(-1)],
                None => Vec::new(),
            }
        }
        Meeting::Close => vec![writes(state::CLOSED, 0)],
        Meeting::Woken(_) => unreachable!("it finds out that it was woken, and nothing else"),
    }
}
