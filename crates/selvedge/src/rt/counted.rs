//! Contents that several references keep, and whose counts matter: someone looks at them, or dropping the last
//! reference does something visible. Which these are is learned while the code runs.

use selvedge_rt::Way;

use super::state::{Engine, Runtime};

/// Whether the running thread takes down a content whose count does not matter so far.
#[inline]
pub(crate) fn is_dropping(rt: &Runtime) -> bool {
    !rt.threads[rt.now.current].own.dropping.is_empty()
}

/// The running thread asks who it is, or for something of its own: if it takes down a content, it matters
/// who does.
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

/// Whether the count of this content is part of the search.
pub(crate) fn is_counted<T: ?Sized>(rt: &Runtime) -> bool {
    let counted = rt.shared.counted.borrow();
    !counted.is_empty() && counted.contains(std::any::type_name::<T>())
}

/// Runs `drops`, which drops a content that several could. If that does something visible, it matters from
/// now on who does it.
pub(crate) fn last_drop<T: ?Sized>(drops: impl FnOnce()) {
    let content = std::any::type_name::<T>();
    let mark = |on: bool| {
        let engine = Engine::try_enter()?;
        let rt = engine.rt();
        if is_counted::<T>(rt) {
            return None;
        }
        let me = rt.now.current;
        let dropping = &mut rt.threads[me].own.dropping;
        match on {
            true => dropping.push(content),
            false => _ = dropping.pop(),
        }
        Some(rt.known[me].home.filled())
    };
    // While it is dropped, something may turn out to be visible: then nothing is taken back.
    let before = mark(true);
    drops();
    // A thread that allocated something has its next blocks elsewhere.
    if let Some(after) = mark(false)
        && before != Some(after)
        && let Some(engine) = Engine::try_enter()
    {
        learn(engine.rt(), content);
    }
}
