//! What a program is made of: a few features each, so that its threads meet.

/// A part of the language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Feature {
    Variables,
    Arrays,
    Branches,
    Loops,
    Routines,
    ReadModifyWrite,
    Mutexes,
    ReaderWriterLocks,
    Conditions,
    Semaphores,
    Barriers,
    Messages,
    Tasks,
    Atomic,
    Await,
    Assume,
    Assert,
    Choose,
    Lists,
    Maps,
    Extremes,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 21] = [
        Feature::Variables,
        Feature::Arrays,
        Feature::Branches,
        Feature::Loops,
        Feature::Routines,
        Feature::ReadModifyWrite,
        Feature::Mutexes,
        Feature::ReaderWriterLocks,
        Feature::Conditions,
        Feature::Semaphores,
        Feature::Barriers,
        Feature::Messages,
        Feature::Tasks,
        Feature::Atomic,
        Feature::Await,
        Feature::Assume,
        Feature::Assert,
        Feature::Choose,
        Feature::Lists,
        Feature::Maps,
        Feature::Extremes,
    ];
}

/// Everything that programs can share: name and declaration.
pub(super) const DECLARATIONS: [(&str, &str); 27] = [
    ("N", "const N = 2;"),
    ("LOW", "const LOW: int = N - 5;"),
    ("MOST", "const MOST = 0x7fff_ffff;"),
    ("YES", "const YES = !(LOW > 0) && N == len(a2);"),
    ("x", "shared x = 0;"),
    ("y", "shared y: int = LOW + 4;"),
    ("z", "shared atomic z = -2;"),
    ("b", "shared b = false;"),
    ("f", "shared atomic f[2] = [true, false];"),
    ("a2", "shared a2[N] = 0;"),
    ("a", "shared a[3] = [0, -1, 2];"),
    ("g", "shared g[2][3] = [[0, 1, 2], [-1, -2, N]];"),
    ("m", "mutex m;"),
    ("ms", "mutex ms[2];"),
    ("rw", "rwlock rw;"),
    ("rws", "rwlock rws[2];"),
    ("c", "cond c;"),
    ("cs", "cond cs[2];"),
    ("s", "semaphore s = 1;"),
    ("ss", "semaphore ss[N] = [0, 2];"),
    ("meet", "barrier meet(2);"),
    ("q", "list q = [1, LOW];"),
    ("qs", "list qs[2];"),
    ("t", "map t = {1: 10, LOW: N};"),
    ("ts", "map ts[2];"),
    ("TAG", "const TAG = 1;"),
    ("last", "semaphore last = 0x7fff_fffe;"),
];
