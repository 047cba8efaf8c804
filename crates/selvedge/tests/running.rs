//! What a user sees of a check while it runs, and what the environment adds to its report.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::thread;
use selvedge_testkit::is_campaign;

/// Says which of the tests below is to run, in a process of its own.
const VICTIM: &str = "SELVEDGE_TEST_RUNNING";

fn is_victim(name: &str) -> bool {
    std::env::var_os(VICTIM).is_some_and(|victim| victim == name)
}

/// Runs one of them for a while. Its output is not lost if it has to be ended.
fn run(name: &str, variables: &[(&str, &str)], most: Duration) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("running::{name}")])
        .env(VICTIM, name)
        .env_remove("RUST_BACKTRACE");
    command.envs(variables.iter().copied());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > most {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn waits_for_a_lock_of_std() {
    if is_victim("waits_for_a_lock_of_std") {
        selvedge::check(|| {
            let lock = std::sync::Arc::new(std::sync::Mutex::new(()));
            let x = Arc::new(AtomicUsize::new(0));
            let (other, y) = (std::sync::Arc::clone(&lock), Arc::clone(&x));
            thread::spawn(move || {
                let _guard = other.lock();
                y.store(1, SeqCst);
            });
            let _guard = lock.lock();
            x.store(2, SeqCst);
        });
    }
}

#[test]
fn code_that_waits_outside_of_the_check_is_told() {
    let soon = [("SELVEDGE_PROGRESS", "0.2")];
    let text = stderr(&run("waits_for_a_lock_of_std", &soon, Duration::from_secs(2)));
    assert!(text.contains("waits_for_a_lock_of_std: no step for"), "{text}");
    assert!(text.contains("running.rs:") && text.contains("of `std`"), "{text}");
    assert_eq!(text.matches("no step").count(), 1, "told once: {text}");
}

#[test]
fn takes_long() {
    if is_victim("takes_long") {
        let seconds = Duration::from_secs(2);
        selvedge::Builder::new().max_time(seconds).check(|| {
            let x = Arc::new(AtomicUsize::new(0));
            for _ in 0..12 {
                let x = Arc::clone(&x);
                thread::spawn(move || x.fetch_add(1, SeqCst));
            }
        });
    }
}

#[test]
fn a_long_check_says_how_far_it_is() {
    let soon = [("SELVEDGE_PROGRESS", "0.2")];
    let output = run("takes_long", &soon, Duration::from_secs(60));
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("selvedge: running::takes_long: ") && text.contains("so far"), "{text}");
    let lines = text.matches("so far").count();
    assert!((2..=5).contains(&lines), "less and less often: {text}");
    if is_campaign() {
        let never = run("takes_long", &[("SELVEDGE_PROGRESS", "0")], Duration::from_secs(60));
        assert_eq!(stderr(&never), "");
    }
}

#[inline(never)]
fn unlucky(n: u32) -> u32 {
    assert!(std::hint::black_box(n) > 0, "out of luck");
    unlucky(n - 1) + 1
}

#[test]
fn panics_in_a_function() {
    if is_victim("panics_in_a_function") {
        selvedge::check(|| _ = thread::spawn(|| unlucky(2)).join());
    }
}

#[test]
fn a_report_has_the_calls_that_led_to_a_panic_if_asked_for() {
    let most = Duration::from_secs(60);
    let stdout = |output: Output| String::from_utf8(output.stdout).unwrap();
    let text = stdout(run("panics_in_a_function", &[("RUST_BACKTRACE", "1")], most));
    let (_, calls) = text.split_once("the calls that led to the panic:\n").expect(&text);
    let (calls, _) = calls.split_once("\n\n").unwrap();
    assert_eq!(calls.matches("unlucky").count(), 3, "{calls}");
    assert!(calls.lines().count() <= 8, "{calls}");
    let text = stdout(run("panics_in_a_function", &[], most));
    assert!(text.contains("out of luck") && !text.contains("the calls"), "{text}");
}

/// Without the flags there might be no such test.
#[test]
fn the_command_that_shows_a_failure_again_has_the_flags_of_the_compiler() {
    let most = Duration::from_secs(60);
    let command = |flags: &str| {
        let output = run("panics_in_a_function", &[("RUSTFLAGS", flags)], most);
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("to see it again: "));
        line.expect(&text).to_owned()
    };
    let with = command("--cfg loom -O");
    assert!(with.starts_with("RUSTFLAGS='--cfg loom -O' SELVEDGE_REPLAY=running.rs:"), "{with}");
    assert!(with.ends_with(" cargo test running::panics_in_a_function"), "{with}");
    assert!(command("-D warnings").starts_with("SELVEDGE_REPLAY="));
}

/// Uses an ordering that is weaker than `SeqCst` in two checks, the first of them twice.
#[test]
fn passes_with_weak_orderings() {
    if is_victim("passes_with_weak_orderings") {
        let check = |order| {
            let first = selvedge::Builder::new().sequentially_consistent(true);
            first.check(move || {
                let x = AtomicUsize::new(0);
                x.store(1, order);
            });
            // What is explored is no reason for a line.
            selvedge::check(move || AtomicUsize::new(0).store(1, order));
        };
        check(selvedge::sync::atomic::Ordering::Relaxed);
        check(selvedge::sync::atomic::Ordering::Relaxed);
        selvedge::check(|| AtomicUsize::new(0).store(1, SeqCst));
        let quiet = selvedge::Builder::new().quiet(true);
        quiet.check(|| _ = AtomicUsize::new(0).load(selvedge::sync::atomic::Ordering::Acquire));
    }
}

/// The harness keeps what passing tests print: this must be seen nevertheless.
#[test]
fn a_test_that_passes_with_weak_orderings_says_so_once() {
    let most = Duration::from_secs(60);
    let output = run("passes_with_weak_orderings", &[], most);
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    let line = "passed, but orderings weaker than SeqCst are used: data races follow them, but loads of \
                older values, which only weak memory shows, were not explored";
    assert!(
        text.starts_with("selvedge: running::passes_with_weak_orderings (running.rs:"),
        "{text}"
    );
    assert_eq!((text.matches(line).count(), text.lines().count()), (1, 1), "{text}");
    let quiet = run("passes_with_weak_orderings", &[("SELVEDGE_QUIET", "1")], most);
    assert_eq!(stderr(&quiet), "");
    // The other check is not explored a second time either.
    let once =
        run("passes_with_weak_orderings", &[("SELVEDGE_SEQUENTIALLY_CONSISTENT", "1")], most);
    assert_eq!(stderr(&once).matches(line).count(), 2, "{}", stderr(&once));
}

#[test]
fn loses_an_update() {
    if is_victim("loses_an_update") {
        selvedge::check(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let y = Arc::clone(&x);
            let thread = thread::spawn(move || y.store(y.load(SeqCst) + 1, SeqCst));
            x.store(x.load(SeqCst) + 1, SeqCst);
            thread.join().unwrap();
            assert_eq!(x.load(SeqCst), 2, "</script><img src=x onerror=alert(1)>");
        });
    }
}

#[test]
fn a_failing_check_marks_its_line() {
    let marks = |service: &str| {
        let environment = [("SELVEDGE_ANNOTATIONS", service)];
        let output = run("loses_an_update", &environment, Duration::from_secs(60));
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        said.lines().filter(|line| line.starts_with("::")).map(str::to_owned).collect::<Vec<_>>()
    };
    let marked = marks("github");
    let [mark] = marked.as_slice() else { panic!("one line: {marked:?}") };
    let begins = format!("::error file={},line=", file!());
    assert!(
        mark.starts_with(&begins) && mark.contains("assertion `left == right` failed"),
        "{mark}"
    );
    assert_eq!(marks("another"), Vec::<String>::new());
}

#[test]
fn a_failing_check_has_a_page_to_look_at() {
    has_a_page("");
}

#[test]
fn a_failing_check_under_a_memory_model_has_a_page_to_look_at() {
    has_a_page("rc11");
}

fn has_a_page(memory: &str) {
    let name = format!("selvedge-pages-{}-{memory}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let to = folder.to_str().unwrap();
    let environment = [("SELVEDGE_HTML", to), ("SELVEDGE_MEMORY", memory)];
    let output = run("loses_an_update", &environment, Duration::from_secs(60));
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    let files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("one page: {files:?}") };
    assert!(said.contains(&format!("selvedge: to look at it: {}", file.display())), "{said}");
    let page = std::fs::read_to_string(file).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        page.starts_with("<!doctype html>") && page.contains("assertion `left == right` failed")
    );
    assert!(page.contains("reads what it wrote") && page.contains("let thread = thread::spawn"));
    // The executions are a tree, with the names of the threads.
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let json: serde_json::Value = serde_json::from_str(data.unwrap()).unwrap();
    let texts = |name: &str| -> Vec<String> {
        let all = json["tree"][name].as_array().unwrap().iter();
        all.filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let of_kind = |kind: &str| json["executions"][kind].as_u64().unwrap() as usize;
    assert_eq!(
        texts("ending").len(),
        of_kind("complete") + of_kind("redundant"),
        "{}",
        json["tree"]
    );
    assert!(texts("ending").contains(&"violated".to_owned()), "{}", json["tree"]);
    assert!(texts("label").iter().any(|label| label.contains("thread 1")), "{}", json["tree"]);
    // Two elements of the page itself, and none of the program.
    assert_eq!((page.matches("</script>").count(), page.matches("<img").count()), (2, 0));
}
