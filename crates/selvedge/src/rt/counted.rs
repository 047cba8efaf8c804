//! Contents that several references keep, and whose counts matter: someone looks at them, or dropping the last
//! reference does something visible. Which these are is learned while the code runs.

use selvedge_rt::Way;

use super::arena::Filled;
use super::state::{Engine, Runtime};

/// Returns whether the running thread takes down a content whose count does not matter so far.
#[inline]
pub(crate) fn is_dropping(rt: &Runtime) -> bool {
    !rt.threads[rt.now.current].own.dropping.is_empty()
}

/// The running thread asks for its identity, or for something of its own: if it drops a content, it matters
/// which thread does.
#[inline]
pub(crate) fn note_self(rt: &mut Runtime) {
    if is_dropping(rt) {
        note_visible_drop(rt);
    }
}

/// Dropping a content did something visible: from now on its count matters.
#[cold]
pub(super) fn note_visible_drop(rt: &mut Runtime) {
    let me = rt.now.current;
    let dropped = std::mem::take(&mut rt.threads[me].own.dropping);
    for &content in &dropped {
        learn(rt, content);
    }
    rt.threads[me].own.dropping = dropped;
}

/// From now on the count of this content matters. Nothing is learned during teardown: the
/// search would find itself in another execution.
pub(crate) fn learn(rt: &Runtime, content: &'static str) {
    if rt.now.way == Way::Announce && rt.shared.counted.borrow_mut().insert(content) {
        rt.learn();
    }
}

/// Returns whether the count of this content is part of the search.
#[inline]
pub(crate) fn is_counted<T: ?Sized>(rt: &Runtime) -> bool {
    is_learned(rt, std::any::type_name::<T>())
}

fn is_learned(rt: &Runtime, content: &'static str) -> bool {
    let counted = rt.shared.counted.borrow();
    !counted.is_empty() && counted.contains(content)
}

/// Runs `drops`, which drops a content that several could. If that does something visible, it matters from
/// now on which thread does it.
pub(crate) fn last_drop<T: ?Sized>(drops: impl FnOnce()) {
    let content = std::any::type_name::<T>();
    // While it is dropped, something may turn out to be visible: then nothing is taken back.
    let before = mark(content, true);
    drops();
    took_down(content, before);
}

/// The running thread begins or ends to take down a content; returns how full its memory is, if the count does not matter.
fn mark(content: &'static str, begins: bool) -> Option<Filled> {
    let engine = Engine::try_enter()?;
    let rt = engine.rt();
    if is_learned(rt, content) {
        return None;
    }
    let me = rt.now.current;
    let dropping = &mut rt.threads[me].own.dropping;
    match begins {
        true => dropping.push(content),
        false => _ = dropping.pop(),
    }
    Some(rt.known[me].home.filled())
}

fn took_down(content: &'static str, before: Option<Filled>) {
    // A thread that allocated something has its next blocks elsewhere.
    if let Some(after) = mark(content, false)
        && before != Some(after)
        && let Some(engine) = Engine::try_enter()
    {
        learn(engine.rt(), content);
    }
}
