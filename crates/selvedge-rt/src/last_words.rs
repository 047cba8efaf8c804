//! What is said when the process ends in the middle of a check, or may: who did what, after which steps, and how
//! to see it again.
//!
//! This runs in signal handlers, in the middle of anything: nothing is allocated and no lock is taken. What cannot
//! be written without that (the command of the replay) is made when the check begins.

use std::fmt::{self, Write};

use selvedge_core::{Step, ThreadId};

use crate::log::Logged;
use crate::runtime::Runtime;
use crate::world::World;

/// Says what the running thread did, `and` what follows from it, and how to see it again.
pub fn say<W: World>(rt: &Runtime<W>, did: &dyn fmt::Display, and: &str) {
    let (name, spot) = (rt.name_of(rt.now.current), rt.threads[rt.now.current].spot);
    let mut words = Words::new();
    // If standard error is closed, there is nothing else to tell it to.
    let _ = writeln!(words, "selvedge: {}: {name} {did}{and}", rt.shared.check_name());
    let _ = writeln!(words, "  its last operation: {spot}");
    let _ = writeln!(words, "  to see it again: {}", Again(rt));
}

/// The last steps of the execution, one per line.
pub fn list_steps<W: World>(rt: &Runtime<W>) {
    const MOST: usize = 40;
    let mut words = Words::new();
    let taken = taken(rt);
    let first = taken.len().saturating_sub(MOST);
    let _ = writeln!(words, "  the steps before:");
    if first > 0 {
        let _ = writeln!(words, "  … {first} steps");
    }
    for (index, logged) in taken.iter().enumerate().skip(first).filter(|(_, logged)| !logged.spins)
    {
        let (number, name) = (index + 1, rt.name_of(logged.thread as usize));
        let _ = writeln!(words, "  step {number:>3}  {name}: {}", logged.spot);
    }
}

/// The command that shows the execution again, as far as it has come.
pub(crate) struct Again<'a, W: World>(pub(crate) &'a Runtime<W>);

impl<W: World> fmt::Display for Again<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = self.0.shared.replay_command();
        f.write_str(before)?;
        // Numbered as a fresh system numbers threads.
        let step = |logged: &Logged<W>| Step {
            thread: ThreadId::new(self.0.threads[logged.thread as usize].rank),
            choice: logged.choice,
        };
        let steps = taken(self.0).iter().filter(|logged| !logged.spins);
        selvedge_core::write_schedule(steps.map(step), f)?;
        f.write_str(after)
    }
}

/// The steps taken so far.
fn taken<W: World>(rt: &Runtime<W>) -> &[Logged<W>] {
    let taken = if rt.scripted < rt.script.len() { rt.scripted } else { rt.log.len() };
    &rt.log[..taken]
}

/// Text on its way to standard error, a line at a time if lines are not too long.
struct Words {
    buffer: [u8; Words::ROOM],
    len: usize,
}

impl Words {
    const ROOM: usize = 2048;

    fn new() -> Self {
        Self { buffer: [0; Self::ROOM], len: 0 }
    }

    fn flush(&mut self) {
        let mut rest = &self.buffer[..self.len];
        while !rest.is_empty() {
            // SAFETY: the bytes are there.
            let written =
                unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(written) => rest = &rest[written..],
                Err(_)
                    if std::io::Error::last_os_error().kind()
                        == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.len = 0;
    }
}

impl Write for Words {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.len == Self::ROOM {
                self.flush();
            }
            self.buffer[self.len] = byte;
            self.len += 1;
        }
        Ok(())
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.flush();
    }
}
