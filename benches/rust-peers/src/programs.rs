//! The programs, once for each library: the same text with other types.

/// One program: its name, its parameter, and how to run it once.
pub type Body = fn(usize);

macro_rules! programs {
    ($library:ident) => {
        pub mod $library {
            use programs::*;

            use ::$library as library;

            mod programs {
                // The library's own tests count the executions of the same text.
                include!(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/../../crates/selvedge/tests/common/programs.rs"
                ));
            }

            pub const ALL: &[(&str, super::Body)] = &[
                ("stores", stores),
                ("readers", readers),
                ("lastzero", lastzero),
                ("mutex", mutex_counter),
                ("rounds", rounds),
                ("fetch_add", fetch_add),
                ("mpsc", producers),
                ("treiber", treiber),
                ("ring", ring),
                ("buffer", buffer),
            ];
        }
    };
}

programs!(selvedge);
programs!(loom);
programs!(shuttle);
