//! Spawning.

use std::io;
use std::panic::Location;
use std::rc::Rc;

use selvedge_core::{Effect, Label, Mode, ThreadId};

use super::handle::{JoinHandle, Packet};
use selvedge_rt::{Body, Outcome, start};

use crate::rt::body::body;
use crate::rt::{Ask, Engine, Operation, Runtime, Spot};

/// Spawns a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: it borrows nothing.
    JoinHandle::new(unsafe { start_thread(None, f, Location::caller()) })
}

/// A thread to be, with a name.
#[derive(Debug, Default)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    /// A thread without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its name in reports.
    pub fn name(self, name: String) -> Self {
        Self { name: Some(name) }
    }

    /// Accepted and ignored: all stacks have the size that [`crate::Builder::stack_size`] says.
    pub fn stack_size(self, _size: usize) -> Self {
        self
    }

    /// Spawns it.
    ///
    /// # Errors
    /// Never: a thread that cannot be started is reported by the check.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: it borrows nothing.
        unsafe { self.spawn_unchecked(f) }
    }

    /// Spawns it, whatever it borrows.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    ///
    /// # Safety
    /// As for [`std::thread::Builder::spawn_unchecked`]: what it borrows must outlive it.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        // SAFETY: the caller promises that what it borrows outlives it.
        let started = unsafe { start_thread(self.name, f, Location::caller()) };
        Ok(JoinHandle::new(started))
    }

    /// Spawns it, also if it cannot be sent: all threads of checked code run on one thread of the
    /// system. `std` would refuse it.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    #[track_caller]
    pub fn spawn_local<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        // SAFETY: it borrows nothing.
        Ok(JoinHandle::new(unsafe { start_thread(self.name, f, Location::caller()) }))
    }

    /// Spawns it in a scope.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    #[track_caller]
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope super::Scope<'scope, '_>,
        f: F,
    ) -> io::Result<super::ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Ok(scope.spawn_named(self.name, f, Location::caller()))
    }
}

/// A thread that was started, and where its result will be.
pub(super) struct Started<T> {
    pub(super) number: usize,
    pub(super) name: Option<String>,
    pub(super) packet: Rc<Packet<T>>,
}

/// Starts a thread.
///
/// # Safety
/// What `code` and its result borrow outlives the thread.
pub(super) unsafe fn start_thread<'a, T: 'a>(
    name: Option<String>,
    code: impl FnOnce() -> T + 'a,
    spot: Spot,
) -> Started<T> {
    let packet: Rc<Packet<T>> = Rc::default();
    let theirs = Rc::clone(&packet);
    let body = body(code, move |result| theirs.leave(result));
    // SAFETY: only the lifetime changes; the caller promises that the thread ends before it.
    let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() -> Outcome + 'a>, Body>(body) };
    let engine = Engine::enter();
    let me = engine.me();
    let child = engine.rt().next_child(me);
    match engine.asks() {
        true => {
            let label = Label::Spawn(ThreadId::new(child));
            engine.ask(&Ask::plain(label), &Spawn, spot);
        }
        false => _ = engine.visible(&Spawn, spot),
    }
    let rt = engine.rt();
    rt.threads[me].spawned += 1;
    rt.threads[child].name = name.clone();
    (rt.threads[child].spawned_at, rt.threads[child].spot) = (spot, spot);
    engine.note(|rt| format!("spawn {}", rt.thread_name(child)));
    // SAFETY: the runtime is alive, and no reference into it is held.
    unsafe { start(engine.raw(), child, body) };
    drop(engine);
    Started { number: child, name, packet }
}

struct Spawn;

impl Operation<Runtime> for Spawn {
    fn effect(&self, rt: &mut Runtime, me: usize, _choice: u32, effect: &mut Effect) {
        let child = rt.next_child(me);
        effect.footprint.add(rt.known[child].life, Mode::Spawn);
        effect.footprint.add(rt.known[child].wake, Mode::Spawn);
    }

    fn text(&self, _rt: &Runtime, _me: usize) -> String {
        "spawn a thread".to_owned()
    }
}
