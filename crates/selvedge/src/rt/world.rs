//! Checked Rust code as a [`World`].

use std::rc::Rc;
use std::sync::Arc;

use selvedge_core::Place;
use selvedge_rt::{Advice, Body, World};

use super::address;
use super::arena::{self, Arena, Filled};
use super::body::body;
use super::memory::Remembered;
use super::state::{Guards, Rust, RustExecution, RustThread};
use crate::spot::{self, Spot};
use crate::watch::Overdue;

impl World for Rust {
    type Spot = Spot;
    type Line = (&'static str, u32);
    type Home = Box<Arena>;
    type Mark = (Filled, Remembered);
    type Code = *mut Arena;
    type Thread = RustThread;
    type Execution = RustExecution;
    type Overdue = Overdue;

    #[inline]
    fn is_same(one: Spot, other: Spot) -> bool {
        std::ptr::eq(one, other)
    }

    fn line(spot: Spot) -> Self::Line {
        (spot.file(), spot.line())
    }

    fn place(spot: Spot) -> Place {
        spot::place(spot)
    }

    fn object_name(kind: &str, created: Spot) -> String {
        spot::object_name(kind, created)
    }

    fn checked_at(&self) -> Spot {
        self.checked_at
    }

    fn enter(&self) -> Body {
        let program = Rc::clone(&self.program);
        body(move || program(), |_| ())
    }

    fn may_be_address(value: u64) -> bool {
        address::may_be(value)
    }

    fn home(&self, thread: usize) -> Box<Arena> {
        Box::new(Arena::new(
            thread,
            Arc::as_ptr(&self.pulse) as usize,
            self.guards != Guards::Nothing,
        ))
    }

    fn settle(&self, home: &mut Box<Arena>, was_used: bool) {
        let reuses = self.reuses && !self.recycled.borrow().is_empty();
        let creates = self.in_blocks.borrow().has_published();
        home.asks = reuses || creates || self.watches_block() || self.guards != Guards::Nothing;
        if was_used {
            home.reset();
        }
    }

    fn filled(home: &Box<Arena>) -> Option<impl Iterator<Item = (usize, usize)>> {
        home.blocks()
    }

    #[inline]
    fn code_of(home: &mut Box<Arena>) -> *mut Arena {
        &raw mut **home
    }

    #[inline]
    fn engine_code() -> *mut Arena {
        std::ptr::null_mut()
    }

    #[inline]
    fn switch(code: *mut Arena) -> *mut Arena {
        arena::switch(code)
    }

    fn is_engine() -> bool {
        arena::current().is_null()
    }

    #[inline]
    fn beat(&self) {
        self.pulse.beat();
    }

    fn check_name(&self) -> &str {
        self.pulse.test()
    }

    fn replay_command(&self) -> (&str, &str) {
        (&self.replay_command.0, &self.replay_command.1)
    }

    fn overdue(&self) -> Option<(Overdue, bool)> {
        self.pulse.overdue().map(|overdue| (overdue, overdue.must_end))
    }

    /// That of a test binary whose tests failed.
    const FAILED: i32 = 101;

    const MAIN: &'static str = "the closure";

    fn advice(about: Advice) -> String {
        match about {
            Advice::Stack(bytes) => format!("Builder::stack_size({bytes})"),
            Advice::LongCode => {
                "does it loop without end, or wait for something of `std`?".to_owned()
            }
            Advice::LoopWithoutHint => "a loop that waits for another thread needs \
                                        `hint::spin_loop()` or `thread::yield_now()` in it, and one that ends \
                                        by itself `Builder::max_steps`"
                .to_owned(),
            Advice::EndlessLoop => "let the loop end sooner, or set `Builder::max_steps` if it ends by itself"
                .to_owned(),
        }
    }
}
