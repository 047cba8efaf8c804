//! Litmus tests of the literature, all accesses relaxed: Selvedge under RC11 and loom, which explores weak memory always.
//!
//! A thread is a list of accesses: `w(x, v)` stores a value, `r(x)` loads.

/// One access: whether it writes, its variable, and the value.
type Access = (bool, usize, u32);

const fn w(variable: usize, value: u32) -> Access {
    (true, variable, value)
}

const fn r(variable: usize) -> Access {
    (false, variable, 0)
}

/// A test: its name, and the accesses of each thread.
pub type Test = (&'static str, &'static [&'static [Access]]);

/// The tests. Variables are numbered.
pub const TESTS: &[Test] = &[
    ("MP", &[&[w(0, 1), w(1, 1)], &[r(1), r(0)]]),
    ("SB", &[&[w(0, 1), r(1)], &[w(1, 1), r(0)]]),
    ("LB", &[&[r(0), w(1, 1)], &[r(1), w(0, 1)]]),
    ("2+2W", &[&[w(0, 1), w(1, 2)], &[w(1, 1), w(0, 2)]]),
    ("S", &[&[w(0, 2), w(1, 1)], &[r(1), w(0, 1)]]),
    ("R", &[&[w(0, 1), w(1, 1)], &[w(1, 2), r(0)]]),
    ("WRC", &[&[w(0, 1)], &[r(0), w(1, 1)], &[r(1), r(0)]]),
    ("RWC", &[&[w(0, 1)], &[r(0), r(1)], &[w(1, 1), r(0)]]),
    ("IRIW", &[&[w(0, 1)], &[w(1, 1)], &[r(0), r(1)], &[r(1), r(0)]]),
];

pub fn find(name: &str) -> Option<&'static Test> {
    TESTS.iter().find(|(other, _)| *other == name)
}

macro_rules! runs {
    ($library:ident) => {
        pub mod $library {
            use ::$library::sync::Arc;
            use ::$library::sync::atomic::{AtomicU32, Ordering::Relaxed};
            use ::$library::thread;

            /// Runs a test once.
            pub fn run(test: &super::Test) {
                let variables = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
                let threads: Vec<_> = test
                    .1
                    .iter()
                    .map(|code| {
                        let variables = Arc::clone(&variables);
                        thread::spawn(move || {
                            for &(writes, variable, value) in *code {
                                if writes {
                                    variables[variable].store(value, Relaxed);
                                } else {
                                    let _seen = variables[variable].load(Relaxed);
                                }
                            }
                        })
                    })
                    .collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }
        }
    };
}

runs!(selvedge);
runs!(loom);
