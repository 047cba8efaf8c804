//! Looks now and then whether the caller wants to stop.

/// The caller asked to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// Work that can be stopped.
pub struct Patience<'a> {
    stop: &'a mut dyn FnMut() -> bool,
    left: u32,
}

/// The caller is asked at every so many-th opportunity: asking may mean to look at a clock.
const OPPORTUNITIES: u32 = 32;

impl<'a> Patience<'a> {
    /// Ends when `stop` says yes.
    pub fn new(stop: &'a mut dyn FnMut() -> bool) -> Self {
        Self { stop, left: 0 }
    }

    /// An opportunity to stop.
    pub(crate) fn check(&mut self) -> Result<(), Stopped> {
        if self.left > 0 {
            self.left -= 1;
            return Ok(());
        }
        self.left = OPPORTUNITIES;
        if (self.stop)() { Err(Stopped) } else { Ok(()) }
    }
}
