//! Tests over programs built by hand, independent of the language.

mod driver;
mod operations;
mod programs;
mod texts;
mod threads;
mod walks;
