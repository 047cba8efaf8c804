//! Starting a thread.

use std::rc::Rc;

use selvedge_core::{Effect, Label, Mode, ThreadId};
use selvedge_rt::{Body, Outcome, start};

use super::packet::Packet;
use crate::rt::body::body;
use crate::rt::knowers::{Passed, note_spawned};
use crate::rt::{Ask, Engine, Operation, Runtime, Spot};

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
    let passed = Passed::of(&code);
    let body = body(code, move |result| theirs.leave(result));
    // SAFETY: only the lifetime changes; the caller promises that the thread ends before it.
    let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() -> Outcome + 'a>, Body>(body) };
    let number = start_body(name.as_deref(), body, &passed, spot);
    Started { number, name, packet }
}

/// Starts a thread, and returns its number. Nothing here is generic, so that it is compiled once, not at every `spawn`.
fn start_body(name: Option<&str>, body: Body, passed: &Passed, spot: Spot) -> usize {
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
    note_spawned(rt, child);
    passed.leaves(rt);
    passed.comes_to(rt, child);
    // A copy that is not the checked code's, which would leak it.
    rt.threads[child].name = name.map(str::to_owned);
    (rt.threads[child].spawned_at, rt.threads[child].spot) = (spot, spot);
    engine.note(|rt| format!("spawn {}", rt.thread_name(child)));
    // SAFETY: the runtime is alive, and no reference into it is held.
    unsafe { start(engine.raw(), child, body) };
    child
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
