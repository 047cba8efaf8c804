//! Mutexes and reader-writer locks.
//!
//! The cell of a lock has its holder, for writing in the case of a reader-writer lock; its readers are a set beside
//! it.

use std::fmt::{self, Formatter};

use selvedge_core::{Elsewhere, Flexibility, Footprint, Mode, ViolationKind};

use super::declare::operations;
use super::{Facts, Operation, Then};
use crate::interpret::{At, Done, FREE, Failure, Loaded, Machine, fault, held_by};
use crate::ir::{Checked, Checker, GlobalKind, Names, ObjectRef, Type};

operations! {
    /// An operation on a lock.
    pub enum Lock {
        /// Takes `lock` in this mode, once it can be taken.
        Acquire { mode: copy LockMode, lock: F::Object },
        /// Releases `lock`, which was taken in this mode.
        Release { mode: copy LockMode, lock: F::Object },
        /// `target` = whether `lock` could be taken in this mode, and is now taken.
        Try { mode: copy LockMode, lock: F::Object, target: F::Target },
    }
}

/// Which way of locking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockMode {
    /// A mutex.
    Mutex,
    /// A reader-writer lock, for reading.
    Read,
    /// A reader-writer lock, for writing.
    Write,
}

impl LockMode {
    /// Returns the word for taking a lock.
    pub(crate) fn lock_word(self) -> &'static str {
        match self {
            LockMode::Mutex => "lock",
            LockMode::Read => "read_lock",
            LockMode::Write => "write_lock",
        }
    }

    /// Returns the word for releasing it.
    pub(crate) fn unlock_word(self) -> &'static str {
        match self {
            LockMode::Mutex => "unlock",
            LockMode::Read => "read_unlock",
            LockMode::Write => "write_unlock",
        }
    }

    fn acquires(self) -> Mode {
        if self == LockMode::Read { Mode::ShareAcquire } else { Mode::Acquire }
    }

    fn releases(self) -> Mode {
        if self == LockMode::Read { Mode::ShareRelease } else { Mode::Release }
    }
}

/// A lock as one thread finds it.
struct Found {
    element: u32,
    /// How the thread holds it; a mutex counts as held for writing.
    held: Option<LockMode>,
    /// Whether it can be taken in the mode that is asked for.
    is_takeable: bool,
}

impl Lock {
    fn parts(&self) -> (LockMode, ObjectRef) {
        match self {
            Lock::Acquire { mode, lock }
            | Lock::Release { mode, lock }
            | Lock::Try { mode, lock, .. } => (*mode, *lock),
        }
    }

    fn find(&self, machine: &Machine, at: At<'_>) -> Found {
        let (mode, lock) = self.parts();
        let element = machine.element(at, lock);
        let owner = machine.cells[at.loaded.cell(lock, element)];
        let no_readers: &[usize] = &[];
        let readers = match mode {
            LockMode::Mutex => no_readers,
            LockMode::Read | LockMode::Write => &machine.readers[at.loaded.content(lock, element)],
        };
        let reads = readers.binary_search(&at.me).is_ok();
        let held = match mode {
            _ if owner == held_by(at.me) && mode == LockMode::Mutex => Some(LockMode::Mutex),
            _ if owner == held_by(at.me) => Some(LockMode::Write),
            _ if reads => Some(LockMode::Read),
            _ => None,
        };
        let fits = if mode == LockMode::Read { !reads } else { readers.is_empty() };
        Found { element, held, is_takeable: owner == FREE && fits }
    }
}

impl Operation for Lock {
    fn facts(&self) -> Facts {
        Facts { may_fault: !matches!(self, Lock::Try { .. }), ..Facts::STEP }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        let (mode, lock) = self.parts();
        if let Lock::Try { target, .. } = self {
            checker.slot(*target, Type::Bool)?;
        }
        checker.kind(lock, |kind| match mode {
            LockMode::Mutex => matches!(kind, GlobalKind::Mutex),
            LockMode::Read | LockMode::Write => matches!(kind, GlobalKind::RwLock),
        })
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        let (mode, lock) = self.parts();
        let lock = names.object(lock);
        match self {
            Lock::Acquire { .. } => write!(f, "{} {lock}", mode.lock_word()),
            Lock::Release { .. } => write!(f, "{} {lock}", mode.unlock_word()),
            Lock::Try { .. } => write!(f, "try_{} {lock}", mode.lock_word()),
        }
    }

    fn footprint(&self, machine: &mut Machine, at: At<'_>, _: u32, footprint: &mut Footprint) {
        let (mode, lock) = self.parts();
        let found = self.find(machine, at);
        let access = match self {
            Lock::Acquire { .. } if found.held.is_none() => mode.acquires(),
            Lock::Try { .. } if found.is_takeable => mode.acquires(),
            Lock::Release { .. } if found.held == Some(mode) => mode.releases(),
            _ => Mode::Probe,
        };
        footprint.add(machine.object(at, lock), access);
    }

    fn can_run(&self, machine: &Machine, at: At<'_>) -> bool {
        // Taking it twice is a misuse that shows at once.
        !matches!(self, Lock::Acquire { .. }) || {
            let found = self.find(machine, at);
            found.is_takeable || found.held.is_some()
        }
    }

    fn flexibility(&self, machine: &Machine, at: At<'_>) -> Flexibility {
        match self {
            // A misuse depends on what the thread itself did before, and always runs.
            Lock::Acquire { .. } if self.find(machine, at).held.is_some() => Flexibility::Fixed,
            Lock::Acquire { mode: LockMode::Mutex, .. } => Flexibility::Lock,
            Lock::Acquire { .. } => Flexibility::Blocking,
            Lock::Try { .. } => Flexibility::Conditional,
            Lock::Release { .. } => Flexibility::Fixed,
        }
    }

    fn elsewhere(&self, machine: &Machine, at: At<'_>) -> Elsewhere {
        match self {
            // A try that fails inspects the lock, which does not commute with readers.
            Lock::Try { mode: LockMode::Read, .. } => Elsewhere::Anything,
            Lock::Try { .. } if !self.find(machine, at).is_takeable => Elsewhere::Anything,
            Lock::Try { .. } | Lock::Acquire { .. } | Lock::Release { .. } => Elsewhere::AtMostThis,
        }
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, _: u32) -> Result<Then, Failure> {
        let (mode, lock) = self.parts();
        let Found { element, held, is_takeable } = self.find(machine, at);
        machine.record.add(at.thread.pc, element, 0, Some(i32::from(is_takeable)), &[]);
        let cell = at.loaded.cell(lock, element) as u32;
        let is_shared = mode == LockMode::Read;
        match self {
            Lock::Acquire { .. } if held.is_some() => {
                return Err(locked_again(machine, at, lock, element));
            }
            Lock::Release { .. } if held != Some(mode) => {
                let what = format!("{} of", mode.unlock_word());
                return Err(machine.not_held(at, &what, lock));
            }
            Lock::Release { .. } if is_shared => {
                machine.remove_reader(at.loaded.content(lock, element), at.me);
            }
            Lock::Release { .. } => machine.set_cell(cell, FREE),
            _ if is_takeable && is_shared => {
                machine.add_reader(at.loaded.content(lock, element), at.me);
            }
            _ if is_takeable => machine.set_cell(cell, held_by(at.me)),
            _ => {}
        }
        if let Lock::Try { target, .. } = self {
            machine.set_target(at, *target, i32::from(is_takeable));
        }
        Ok(Then::Next)
    }

    fn text(&self, _: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let (mode, lock) = self.parts();
        let name = loaded.name(lock, done.element);
        match self {
            Lock::Acquire { .. } => format!("{} {name}", mode.lock_word()),
            Lock::Release { .. } => format!("{} {name}", mode.unlock_word()),
            Lock::Try { .. } => {
                done.with_result(format!("try_{}({name})", mode.lock_word()), Type::Bool)
            }
        }
    }

    fn waits_for(&self, machine: &Machine, at: At<'_>) -> String {
        machine.waits_for_lock(at, self.parts().1)
    }

    fn waits_for_thread(&self, machine: &Machine, at: At<'_>) -> Option<(Option<String>, usize)> {
        match self {
            Lock::Acquire { lock, .. } => machine.waits_for_holder(at, *lock),
            Lock::Release { .. } | Lock::Try { .. } => None,
        }
    }
}

impl Machine {
    pub(super) fn waits_for_lock(&self, at: At<'_>, lock: ObjectRef) -> String {
        let element = self.element(at, lock);
        let name = at.loaded.name(lock, element as usize);
        format!("waits for {name}, held by {}", self.holder_names(at.loaded, lock, element))
    }

    pub(super) fn waits_for_holder(
        &self,
        at: At<'_>,
        lock: ObjectRef,
    ) -> Option<(Option<String>, usize)> {
        let element = self.element(at, lock);
        let holder = self.holders(at.loaded, lock, element).first().copied()?;
        Some((Some(at.loaded.name(lock, element as usize)), holder))
    }

    /// Returns the threads that hold a lock, in any mode.
    fn holders(&self, loaded: &Loaded, lock: ObjectRef, element: u32) -> Vec<usize> {
        let owner = self.cells[loaded.cell(lock, element)];
        if owner != FREE {
            return vec![owner as usize - 1];
        }
        let kind = &loaded.program.globals[lock.global.index()].kind;
        if !matches!(kind, GlobalKind::RwLock) {
            return Vec::new();
        }
        let mut readers = self.readers[loaded.content(lock, element)].clone();
        self.names.sort(&mut readers);
        readers
    }

    fn holder_names(&self, loaded: &Loaded, lock: ObjectRef, element: u32) -> String {
        let holders = self.holders(loaded, lock, element);
        let names: Vec<_> = holders.iter().map(|&it| self.thread_name(loaded, it)).collect();
        names.join(", ")
    }

    #[cold]
    pub(super) fn not_held(&self, at: At<'_>, what: &str, lock: ObjectRef) -> Failure {
        let element = self.element(at, lock);
        let name = at.loaded.name(lock, element as usize);
        let holders = match self.holder_names(at.loaded, lock, element) {
            _ if !self.is_whole => String::new(),
            names if names.is_empty() => " (it is free)".to_owned(),
            names => format!(" (held by {names})"),
        };
        let me = self.thread_name(at.loaded, at.me);
        let message = format!("{what} `{name}`, which thread {me} does not hold{holders}");
        fault::violation(at.loaded, at.thread.pc, ViolationKind::Misuse, message)
    }
}

#[cold]
fn locked_again(machine: &Machine, at: At<'_>, lock: ObjectRef, element: u32) -> Failure {
    let name = at.loaded.name(lock, element as usize);
    let me = machine.thread_name(at.loaded, at.me);
    let message = format!("`{name}` is locked again by thread {me}, which holds it");
    fault::violation(at.loaded, at.thread.pc, ViolationKind::Misuse, message)
}
