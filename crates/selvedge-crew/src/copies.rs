//! Copies of this process, and pipes to them.
#![allow(unsafe_code, reason = "processes and their signals")]

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, PipeReader, PipeWriter, Read as _, Write as _, pipe};
use std::os::fd::AsRawFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A copy of this process that answers lines.
pub(crate) struct Copy {
    process: libc::pid_t,
    orders: PipeWriter,
    answers: PipeReader,
    /// What it has said of its next answer.
    said: Vec<u8>,
}

/// What a copy has said since it was last asked.
pub(crate) enum Said {
    /// Nothing, or not yet all.
    Nothing,
    /// An answer.
    Line(String),
    /// It has ended.
    Ended,
}

impl Copy {
    /// Makes a copy, which does `first` and then nothing but answer with `work`, until this process ends it.
    pub(crate) fn start(
        first: &dyn Fn(),
        work: &mut dyn FnMut(&str) -> String,
    ) -> io::Result<Self> {
        let (orders, to) = pipe()?;
        let (from, answers) = pipe()?;
        let parent = std::process::id();
        // SAFETY: the copy has this thread alone. It uses what this thread owns, the heap, which the C library hands over in
        // order, and its ends of the pipes; it never returns to code that other threads take part in.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop((to, from));
                let end = catch_unwind(AssertUnwindSafe(|| {
                    settle_in(parent)?;
                    first();
                    answer(orders, answers, work)
                }));
                // SAFETY: nothing of the process it is a copy of is to run in it: no destructors, no functions at exit.
                unsafe { libc::_exit(i32::from(!matches!(end, Ok(Ok(()))))) }
            }
            process => Ok(Self { process, orders: to, answers: from, said: Vec::new() }),
        }
    }

    /// Gives it an order. It has answered all others.
    pub(crate) fn order(&mut self, line: &str) -> io::Result<()> {
        self.orders.write_all(line.as_bytes())
    }

    /// Returns what it has said.
    pub(crate) fn said(&mut self) -> io::Result<Said> {
        let mut bytes = [0; 1 << 16];
        match self.answers.read(&mut bytes)? {
            0 => Ok(Said::Ended),
            count => {
                self.said.extend(&bytes[..count]);
                if self.said.last() != Some(&b'\n') {
                    return Ok(Said::Nothing);
                }
                let line = String::from_utf8(std::mem::take(&mut self.said));
                line.map(Said::Line).map_err(|error| io::Error::other(error.to_string()))
            }
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // SAFETY: the process is a child of this one that was not waited for.
        unsafe {
            libc::kill(self.process, libc::SIGKILL);
            libc::waitpid(self.process, std::ptr::null_mut(), 0);
        }
    }
}

/// A copy ends with the process it is a copy of, says nothing to the user, and leaves interruptions to it.
fn settle_in(parent: u32) -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    // SAFETY: calls that change this process alone.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if std::os::unix::process::parent_id() != parent {
            return Err(io::Error::other("the process that this is a copy of has ended"));
        }
        for stream in 0..=2 {
            if libc::dup2(nothing.as_raw_fd(), stream) == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
    }
    Ok(())
}

fn answer(
    orders: PipeReader,
    mut answers: PipeWriter,
    work: &mut dyn FnMut(&str) -> String,
) -> io::Result<()> {
    let mut orders = BufReader::new(orders);
    let mut line = String::new();
    while orders.read_line(&mut line)? > 0 {
        answers.write_all(work(&line).as_bytes())?;
        line.clear();
    }
    Ok(())
}

/// Waits until one of them has something to say, but no longer than this. Returns which.
pub(crate) fn wait<'a>(copies: impl Iterator<Item = &'a Copy>, longest: Duration) -> Vec<usize> {
    let watched = |copy: &Copy| libc::pollfd {
        fd: copy.answers.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut watched: Vec<libc::pollfd> = copies.map(watched).collect();
    let longest = longest.as_millis() as i32;
    // SAFETY: the list is as long as it says.
    unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, longest) };
    let has_news = |(index, it): (usize, &libc::pollfd)| (it.revents != 0).then_some(index);
    watched.iter().enumerate().filter_map(has_news).collect()
}
