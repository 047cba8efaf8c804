//! The tests of this crate, in one program: what they share is compiled once.

mod bench;
mod browser;
mod c;
mod check;
mod common;
mod compare;
mod compare_exit;
mod constraints;
mod docs;
mod editors;
mod estimate;
#[cfg(feature = "farm")]
mod farm;
mod files;
mod format;
mod imports;
mod kept_c;
mod limits;
mod lsp;
mod mat;
mod pages;
mod pictures;
mod promises;
mod replay;
mod serve;
mod states;
mod symbolic;
mod usage;
mod weak;
mod work;
