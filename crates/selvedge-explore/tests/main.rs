//! The tests of this crate, in one program: what they share is compiled once.

mod front_end;
