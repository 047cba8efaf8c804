//! The values that pages and JSON have for Rust code: what each step read and wrote.

use selvedge::cell::{Cell, UnsafeCell};
use selvedge::sync::atomic::Ordering::Relaxed;
use selvedge::sync::atomic::{AtomicBool, AtomicU32};
use selvedge::sync::{Arc, Mutex, RwLock};
use selvedge::{Builder, Memory, thread};
use serde_json::Value;

/// The report of a check that fails, as JSON.
fn report(name: &str, builder: Builder, check: impl Fn() + Send + Sync + 'static) -> Value {
    let path = std::env::temp_dir().join(format!("selvedge-{name}-{}.json", std::process::id()));
    let builder = builder.report_file(&path);
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.check(check)));
    assert!(failed.is_err());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Every access of the first violation with a value, without the place in the names: "write AtomicU32 - 1".
fn accesses(report: &Value) -> Vec<String> {
    let trace = report["violations"][0]["trace"].as_array().unwrap();
    let all = trace.iter().flat_map(|step| step["accesses"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    all.filter(|access| !access["read"].is_null() || !access["wrote"].is_null())
        .map(|access| {
            let object = text(&access["object"]);
            let object = object.split('@').next().unwrap_or_default();
            let [mode, read, wrote] = ["mode", "read", "wrote"].map(|key| text(&access[key]));
            format!("{mode} {object} {read} {wrote}")
        })
        .collect()
}

fn initial(report: &Value) -> Vec<String> {
    let initial = report["violations"][0]["initial"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().split('@').next().unwrap().to_owned();
    initial
        .iter()
        .map(|known| format!("{} = {}", text(&known["object"]), text(&known["value"])))
        .collect()
}

#[test]
fn of_atomics_cells_and_locks() {
    let report = report("values", Builder::new(), || {
        let count = AtomicU32::new(3);
        count.store(4, Relaxed);
        count.fetch_add(1, Relaxed);
        assert_eq!(count.compare_exchange(9, 0, Relaxed, Relaxed), Err(5));
        let cell = Cell::new('a');
        cell.set('b');
        assert_eq!(cell.get(), 'b');
        let raw = UnsafeCell::new([0_u8, 1]);
        // SAFETY: one thread.
        raw.with_mut(|it| unsafe { (*it)[0] = 7 });
        // An access that goes on while others happen is a second one at its end.
        raw.with_mut(|it| {
            count.load(Relaxed);
            // SAFETY: one thread.
            unsafe { (*it)[1] = 8 };
        });
        let lock = Mutex::new(1_u64);
        *lock.lock().unwrap() = 2;
        let shared = RwLock::new(Some(0));
        drop(shared.read().unwrap());
        panic!("to be shown");
    });
    assert_eq!(
        accesses(&report),
        [
            "write AtomicU32 - 4",
            "update AtomicU32 4 5",
            "read AtomicU32 5 -",
            "update Cell 'a' 'b'",
            "read Cell 'b' -",
            "update UnsafeCell [0, 1] [7, 1]",
            "update UnsafeCell [7, 1] -",
            "read AtomicU32 5 -",
            "update UnsafeCell - [7, 8]",
            "acquire Mutex - 1 (held by main)",
            "release Mutex - 2 (free)",
            "share-acquire RwLock - read by main",
            "share-release RwLock - free",
        ]
    );
    let expected = ["AtomicU32 = 3", "Cell = 'a'", "UnsafeCell = [0, 1]", "Mutex = 1 (free)"];
    assert_eq!(initial(&report)[..4], expected);
}

#[test]
fn of_a_stale_read() {
    let builder = Builder::new().memory(Memory::Rc11);
    let report = report("stale", builder, || {
        let (data, ready) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let (theirs, flag) = (Arc::clone(&data), Arc::clone(&ready));
        let writer = thread::spawn(move || {
            theirs.store(1, Relaxed);
            flag.store(true, Relaxed);
        });
        if ready.load(Relaxed) {
            assert_eq!(data.load(Relaxed), 1);
        }
        writer.join().unwrap();
    });
    let accesses = accesses(&report);
    let has = |text: &str| accesses.iter().any(|access| access.starts_with(text));
    assert!(has("write AtomicU32 - 1") && has("write AtomicBool - true"), "{accesses:#?}");
    assert!(has("read AtomicBool true -") && has("read AtomicU32 0 -"), "{accesses:#?}");
    // The read names the step whose write it does not see.
    let trace = report["violations"][0]["trace"].as_array().unwrap();
    let missed: Vec<&Value> =
        trace.iter().map(|step| &step["missed"]).filter(|it| !it.is_null()).collect();
    let [Value::Array(newer)] = missed.as_slice() else { panic!("{missed:?}") };
    let write = &trace[newer[0].as_u64().unwrap() as usize - 1];
    assert!(write["text"].as_str().unwrap().starts_with("store AtomicU32"), "{write}");
}

#[test]
fn who_holds_what_a_thread_waits_for_under_a_memory_model() {
    let builder = Builder::new().memory(Memory::Rc11);
    let report = report("waits", builder, || {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (a2, b2) = (Arc::clone(&a), Arc::clone(&b));
        let other = thread::spawn(move || {
            let _b = b2.lock().unwrap();
            let _a = a2.lock().unwrap();
        });
        {
            let _a = a.lock().unwrap();
            let _b = b.lock().unwrap();
        }
        other.join().unwrap();
    });
    let waiting = report["violations"][0]["waiting"].as_array().unwrap();
    assert_eq!(waiting.len(), 2);
    let trace = &report["violations"][0]["trace"];
    for thread in waiting {
        let holder = thread["holder"].as_u64().expect("the step that took it") as usize;
        assert_ne!(trace[holder - 1]["thread"], thread["thread"]);
        assert_eq!(trace[holder - 1]["accesses"][0]["object"], thread["object"]);
    }
}
