//! The front end for C: programs compiled by the system's compiler, as a [`System`](selvedge_core::System).
//!
//! The compiler instruments every access to memory ([`Sources`]), a shim takes the place of the threads library and
//! of what else the program must not do by itself, and the result is loaded into this process. Threads of the program
//! are coroutines; before an execution the program's variables are set back.
//!
//! | module | |
//! |---|---|
//! | `compile`, `shim`, `note`, `assembly`, `known`, `tasks` | from source files to a module, and what it says about itself |
//! | `module`, `elf`, `lines`, `demangle` | a module in memory, its symbols, its source lines, names of C++ |
//! | `driver` | the compiler of an existing build |
//! | `layout`, `heap`, `leaks` | where memory of threads lies; memory errors |
//! | `objects` | which accesses are to the same object |
//! | `machine`, `fiber`, `crash` | threads, stacks, signals |
//! | `entry` | the way in from checked code |
//! | `op`, `effect`, `perform` | operations: what they touch, when they can run, what they do |
//! | `stand`, `spin`, `whim` | where threads stand; loops that wait; operations that may end spuriously |
//! | `names` | what reports say |
//! | `graph` | the same under a memory model: [`GraphProgram`] |
//! | `system` | [`Program`], the `System` |
//! | `worker` | the process in which all of it runs |

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "selvedge-native needs Linux on x86-64: it handles its signals and lays out its memory"
);

mod assembly;
mod by_value;
mod compile;
mod crash;
mod demangle;
mod driver;
mod effect;
mod elf;
mod entry;
mod fiber;
mod graph;
mod heap;
mod known;
mod layout;
mod leaks;
mod lines;
mod load;
mod machine;
mod marks;
mod module;
mod names;
mod note;
mod objects;
mod odd_sizes;
mod op;
mod perform;
mod shim;
mod spin;
mod spurious;
mod stand;
mod system;
mod tasks;
mod worker;

pub use compile::{Built, Language, Sources, Unbuilt};
pub use driver::Driver;
pub use graph::GraphProgram;
pub use load::{Caps, Loaded};
pub use note::Notes;
pub use spurious::Spurious;
pub use system::Program;
pub use worker::{record_in, recorded, stop_recording, supervise};
