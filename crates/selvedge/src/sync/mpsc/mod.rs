//! Channels with many senders and one receiver, as in [`std::sync::mpsc`].
//!
//! ```
//! use selvedge::{sync::mpsc, thread};
//!
//! selvedge::check(|| {
//!     let (sender, receiver) = mpsc::sync_channel(1);
//!     let producer = thread::spawn(move || (0..3).for_each(|i| sender.send(i).unwrap()));
//!     assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
//!     producer.join().unwrap();
//! });
//! ```

mod bounded;
mod meeting;
mod refuse;
mod senders;
mod unbounded;
mod words;

use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

use crate::rt::{Spot, pause};
use bounded::Bounded;
use unbounded::Unbounded;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

/// Returns a channel without a bound.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let spot = Location::caller();
    let channel = Rc::new(Unbounded::new(spot));
    let (sending, flavour) = (Rc::clone(&channel), Flavour::Unbounded(channel));
    (Sender { channel: sending, spot }, Receiver { flavour, spot })
}

/// Returns a channel that holds at most `bound` messages; with 0, sender and receiver meet.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let spot = Location::caller();
    let channel = Rc::new(Bounded::new(bound, spot));
    let (sending, flavour) = (Rc::clone(&channel), Flavour::Bounded(channel));
    (SyncSender { channel: sending, spot }, Receiver { flavour, spot })
}

/// The sending half of [`channel`].
pub struct Sender<T> {
    channel: Rc<Unbounded<T>>,
    /// Where this one was made.
    spot: Spot,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Sender<T> {}
impl<T> std::panic::UnwindSafe for Sender<T> {}
impl<T> std::panic::RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// Sends a message.
    ///
    /// # Errors
    /// With the message, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.channel.send(message, Location::caller()).map_err(SendError)
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let spot = Location::caller();
        self.channel.add_sender(spot);
        Self { channel: Rc::clone(&self.channel), spot }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.channel.drop_sender(self.spot);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

/// The sending half of [`sync_channel`].
pub struct SyncSender<T> {
    channel: Rc<Bounded<T>>,
    /// Where this one was made.
    spot: Spot,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl<T: Send> Send for SyncSender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SyncSender<T> {}
impl<T> std::panic::UnwindSafe for SyncSender<T> {}
impl<T> std::panic::RefUnwindSafe for SyncSender<T> {}

impl<T> SyncSender<T> {
    /// Sends a message; waits while the channel is full.
    ///
    /// # Errors
    /// With the message, if the receiver is gone.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.channel.send(message, Location::caller()).map_err(SendError)
    }

    /// Sends a message if the channel is not full.
    ///
    /// # Errors
    /// With the message, if it is, or if the receiver is gone.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.channel.try_send(message, Location::caller())
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let spot = Location::caller();
        self.channel.add_sender(spot);
        Self { channel: Rc::clone(&self.channel), spot }
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        self.channel.drop_sender(self.spot);
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

/// The receiving half of a channel.
pub struct Receiver<T> {
    flavour: Flavour<T>,
    /// Where it was made.
    spot: Spot,
}

enum Flavour<T> {
    Unbounded(Rc<Unbounded<T>>),
    Bounded(Rc<Bounded<T>>),
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl<T: Send> Send for Receiver<T> {}
impl<T> std::panic::UnwindSafe for Receiver<T> {}
impl<T> std::panic::RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    /// Waits for a message.
    ///
    /// # Errors
    /// If there is none and all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let spot = Location::caller();
        match &self.flavour {
            Flavour::Unbounded(channel) => channel.receive(spot).ok_or(RecvError),
            Flavour::Bounded(channel) => channel.receive(false, spot).map_err(|_| RecvError),
        }
    }

    /// Returns the next message, if there is one.
    ///
    /// # Errors
    /// If there is none; whether more can come.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let spot = Location::caller();
        match &self.flavour {
            Flavour::Unbounded(channel) => channel.try_receive(spot),
            Flavour::Bounded(channel) => channel.try_receive(spot),
        }
    }

    /// Waits for a message until the time is up; both are tried.
    ///
    /// # Errors
    /// If the time was up, or all senders are gone.
    #[track_caller]
    pub fn recv_timeout(&self, _timeout: Duration) -> Result<T, RecvTimeoutError> {
        let spot = Location::caller();
        match self.receive_timed(spot) {
            Err(RecvTimeoutError::Timeout) => {
                // A thread that waits in a loop, and whose time is up each time, need not go round for nothing.
                pause("recv_timeout", spot);
                Err(RecvTimeoutError::Timeout)
            }
            received => received,
        }
    }

    fn receive_timed(&self, spot: Spot) -> Result<T, RecvTimeoutError> {
        match &self.flavour {
            Flavour::Unbounded(channel) => channel.receive_timed(spot),
            Flavour::Bounded(channel) => channel.receive(true, spot),
        }
    }

    /// Messages until all senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// Messages until there is none now.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        match &self.flavour {
            Flavour::Unbounded(channel) => channel.drop_receiver(self.spot),
            Flavour::Bounded(channel) => channel.drop_receiver(self.spot),
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// See [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

/// See [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

/// Messages until all senders are gone, by a receiver that is given away.
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}
