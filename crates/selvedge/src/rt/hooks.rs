//! What happens at certain points of an execution of Rust code.

use std::panic::Location;

use selvedge_core::{Fault, Freed, Violation};
use selvedge_rt::{AtOnce, Hooks, World};

use super::state::{Guards, Runtime, Rust, RustThread, Touching};
use super::{
    address, arena, counted, exit, guarded, memory_errors, panics, plain, running, stranger,
    take_down, watched,
};
use crate::spot::Spot;

impl Hooks for Rust {
    type About = [Touching; 2];

    #[inline]
    fn running() -> *mut Runtime {
        running::running()
    }

    #[inline]
    fn set_running(rt: *mut Runtime) -> *mut Runtime {
        running::set_running(rt)
    }

    fn install() {
        panics::install();
        exit::install();
    }

    #[cold]
    #[track_caller]
    fn stranger() {
        stranger::note(Location::caller());
    }

    #[cold]
    #[track_caller]
    fn outside() -> ! {
        panic!(
            "selvedge: types of `selvedge` work only in code that `selvedge::check` runs; \
             is this thread a `std::thread`, or is the check over?"
        )
    }

    #[inline]
    fn entered(rt: &mut Runtime) {
        rt.now.own.touching = [Touching::NOTHING; 2];
    }

    #[inline]
    fn left(rt: &Runtime) {
        rt.now.own.memory.close_to_engine();
    }

    #[inline]
    fn announces(rt: &mut Runtime) -> Self::About {
        if rt.shared.guards != Guards::Nothing {
            plain::come_to_operation(rt);
        }
        // Others may free what it is about while it stands there.
        let touching = std::mem::replace(&mut rt.now.own.touching, [Touching::NOTHING; 2]);
        if counted::is_dropping(rt) {
            counted::note_visible_drop(rt);
        }
        touching
    }

    #[inline]
    fn chosen(rt: &mut Runtime, about: Self::About, spot: Spot) -> Option<Fault> {
        match rt.now.own.memory.has_freed_objects {
            true => memory_errors::use_of_freed(rt, about, spot),
            false => None,
        }
    }

    #[inline]
    unsafe fn switches(rt: *mut Runtime, switch: impl FnOnce()) {
        let is_unwinding = panics::is_unwinding();
        // SAFETY: the caller promises that it is valid, and the references end before other code runs.
        unsafe {
            (*rt).now.own.unwinding += u32::from(is_unwinding);
            let current = (*rt).now.current;
            (&mut (*rt).threads)[current].own.unwinding = is_unwinding;
            switch();
            (*rt).now.own.unwinding -= u32::from(is_unwinding);
        }
    }

    #[inline]
    fn resumes(rt: &mut Runtime) {
        rt.now.own.memory.published.close();
        rt.now.own.memory.close_to_engine();
    }

    #[inline]
    fn resumed(rt: &mut Runtime) {
        let own = &rt.threads[rt.now.current].own;
        if own.aborting && !own.allocates && !panics::is_unwinding() {
            take_down::unwind(rt);
        }
    }

    #[inline]
    fn is_unwinding() -> bool {
        panics::is_unwinding()
    }

    fn at_once(rt: &mut Runtime) -> AtOnce {
        let own = &rt.threads[rt.now.current].own;
        if own.allocates {
            return AtOnce::Now;
        }
        if !own.aborting {
            return AtOnce::AsUsual;
        }
        if !panics::is_unwinding() {
            take_down::unwind(rt);
        }
        // A destructor may wait for something that never comes.
        if rt.now.drained > rt.shared.settings.caps.drained { AtOnce::Never } else { AtOnce::Now }
    }

    fn take_down(rt: &mut Runtime) -> ! {
        let me = rt.now.current;
        rt.threads[me].own.aborting = true;
        take_down::unwind(rt)
    }

    fn abandon(thread: &mut RustThread) {
        thread.aborting = true;
    }

    fn is_abandoned(thread: &RustThread) -> bool {
        thread.aborting
    }

    fn fail_at_close(message: String) -> ! {
        panic!("{message}")
    }

    #[inline]
    fn took_step(rt: &mut Runtime, thread: usize) {
        if rt.shared.watches_block() {
            watched::watch_step(rt, thread);
        }
        if rt.shared.keeps_tree.get() {
            keep_name(rt, thread);
        }
    }

    fn failed(rt: &Runtime, thread: usize) -> Option<Fault> {
        let is_result = thread != 0 && rt.shared.panics_are_results;
        (!is_result).then(|| panics::panicked(rt, thread))
    }

    fn recognise(rt: &mut Runtime, address: usize) -> Option<&'static str> {
        let is_freed = rt.shared.guards != Guards::Nothing && arena::is_inside(address);
        is_freed.then(|| {
            let me = rt.now.current;
            rt.threads[me].own.accessed = Some(address);
            if rt.shared.watches_block() {
                let code = Self::switch(Self::engine_code());
                watched::watch_access(rt, address);
                Self::switch(code);
            }
            "reads or writes memory that was freed"
        })
    }

    fn is_plain_access(rt: &mut Runtime, address: usize, instruction: usize) -> bool {
        rt.shared.guards != Guards::Nothing && plain::is_use(rt, address, instruction)
    }

    fn plain_access() {
        plain::wait_to_use();
    }

    fn open(address: usize) -> bool {
        guarded::open_for_engine(address)
    }

    fn about_crash(rt: &Runtime, thread: usize, violation: &mut Violation) {
        let accessed = rt.threads[thread].own.accessed;
        match accessed.and_then(|address| memory_errors::accessed_after_free(rt, thread, address)) {
            Some(access) => *violation = access,
            None => panics::about_crash(rt, thread, violation),
        }
    }

    unsafe fn ends(rt: *mut Runtime) -> Option<Violation> {
        // SAFETY: the caller's promise.
        unsafe { take_down::ends(rt) }
    }

    unsafe fn finish(rt: *mut Runtime) {
        // SAFETY: the caller's promise.
        unsafe { take_down::finish(rt) };
    }

    fn set_apart(rt: &mut Runtime, thread: usize) -> Self::Mark {
        (rt.known[thread].home.set_apart(), rt.now.own.memory.remembered())
    }

    fn take_back(rt: &mut Runtime, thread: usize, (filled, remembered): Self::Mark) -> bool {
        rt.now.own.memory.forget_since(remembered);
        rt.known[thread].home.take_back(filled)
    }

    fn freed(rt: &Runtime) -> &[Freed] {
        &rt.now.own.memory.freed
    }

    fn steady(rt: &Runtime, value: u64) -> u64 {
        address::steady(rt, value)
    }
}

/// Numbers are given in the order in which a search meets threads: what each is called is known only while it runs.
#[cold]
fn keep_name(rt: &Runtime, thread: usize) {
    let mut tree = rt.shared.tree.borrow_mut();
    let threads = &mut tree.get_or_insert_default().threads;
    if threads.len() <= thread {
        threads.resize(thread + 1, String::new());
    }
    if threads[thread].is_empty() {
        threads[thread] = rt.thread_name(thread);
    }
}
