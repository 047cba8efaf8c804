//! Primitives against their specification: all results of small programs, by several explorers and by
//! brute force, compared with all results of the same program as a model in the language `.sel`.

mod atomics;
mod barriers;
mod cells;
mod channels;
mod conditions;
mod futures;
mod locals;
mod locks;
mod once;
mod poison;
mod references;
mod threads;
