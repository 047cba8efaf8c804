//! The workbench in a real browser. Without one these tests are skipped and say so. `cargo test` runs one of them, `-- --include-ignored` all.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::Server;
use crate::browser::driver::{Browser, key};
use crate::common::LARGE;

struct Workbench {
    // Ended before the server, whose page it shows.
    browser: Browser,
    server: Server,
}

impl Workbench {
    fn open() -> Option<Self> {
        let browser = Browser::start()?;
        let server = Server::start("");
        let workbench = Self { browser, server };
        workbench.browser.open_address(&workbench.server.address());
        workbench.until("text.value !== '' && !document.getElementById('text').disabled");
        Some(workbench)
    }

    /// Waits until an expression is true.
    #[track_caller]
    fn until(&self, expression: &str) {
        let start = Instant::now();
        while self.browser.ask(expression) != json!(true) {
            let status = self.browser.texts("#status, #problems");
            assert!(start.elapsed() < Duration::from_secs(60), "not so: {expression} ({status:?})");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Replaces the program as a person would: all is selected, and keys are pressed.
    fn type_program(&self, text: &str) {
        self.browser.click("#text");
        self.browser.ask("text.select()");
        self.browser.press(text.chars());
    }

    /// Replaces a longer program.
    fn set_program(&self, text: &str) {
        self.browser.ask(&format!("(text.value = {}, changed())", json!(text)));
        self.settled();
    }

    /// Waits until the mistakes of the text are known.
    fn settled(&self) {
        self.browser.ask("diagnose()");
    }

    /// Waits until the check is over, and returns what it says.
    fn verdict(&self) -> String {
        self.until("document.querySelector('#status .chip') !== null");
        self.browser.texts("#status").concat()
    }

    #[track_caller]
    fn nothing_is_logged(&self) {
        assert_eq!(self.browser.log(), Vec::<String>::new());
    }
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn a_mistake_is_marked_mended_and_the_program_checked() {
    let Some(bench) = Workbench::open() else { return };
    let browser = &bench.browser;
    bench.type_program("shared x = 0; thread t { x = ; } finally { assert x == 0; }");
    // What was typed so far had other mistakes.
    let told =
        "document.querySelector('#problems li')?.textContent.startsWith('1:30 error: expected ')";
    bench.until(&format!("{told} && document.querySelectorAll('#marks .error').length === 1"));
    assert_eq!(browser.texts("#problems li").len(), 1);
    assert_eq!(browser.texts("#numbers .bad"), ["1\n"]);
    // The check refuses it, and says why.
    browser.click("#check");
    assert_eq!(bench.verdict(), "error the program has errors");
    // F8 goes to the mistake, and what was forgotten is typed there.
    browser.click("#text");
    browser.press([key::F8]);
    assert_eq!(browser.ask("text.selectionStart"), 29);
    browser.press([key::LEFT, '1']);
    bench.until("document.querySelectorAll('#marks .error, #problems li').length === 0");
    assert_eq!(browser.ask("text.value.slice(25, 31)"), "x = 1;");
    browser.chord(&[key::CONTROL], key::ENTER);
    bench.until("document.querySelector('#status .violated') !== null");
    let told = bench.verdict();
    assert!(told.ends_with(": assertion `x == 0` is false (x = 1)"), "{told}");
    assert_eq!(browser.texts("#marks .violated"), ["x == 0"]);
    // The page beside it is that of --html, and works.
    browser.enter("#page");
    bench.until("document.getElementById('verdict')?.textContent === 'violated'");
    // It is as wide as it is seen: nothing is shortened where there is room.
    assert_eq!(browser.ask("document.getElementById('lanes').textContent.includes('…')"), false);
    browser.click("#lanes");
    browser.press([key::HOME]);
    bench.until("typeof current === 'number' && current === 0");
    browser.leave();
    // What is typed now is another program.
    browser.click("#text");
    browser.press([' ']);
    bench.until("document.querySelectorAll('#marks .violated').length === 0");
    assert!(bench.verdict().ends_with("the program has changed since"));
    bench.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn examples_constants_and_algorithms_are_chosen() {
    let Some(bench) = Workbench::open() else { return };
    let browser = &bench.browser;
    let examples = browser.ask("document.querySelectorAll('#example option').length");
    assert!(examples.as_u64() > Some(100), "{examples}");
    browser.ask("useExample('optimal-dpor/readers.sel')");
    bench.until("document.querySelectorAll('#constants input').length === 1");
    browser.click("#constants input");
    browser.ask("document.querySelector('#constants input').select()");
    browser.press(['8']);
    browser.ask("(document.getElementById('algorithm').value = 'source', document.getElementById('algorithm').onchange())");
    browser.click("#check");
    let told = bench.verdict();
    assert!(told.starts_with("verified 256 executions in"), "{told}");
    assert_eq!(browser.ask("document.querySelector('#constants input').className"), "changed");
    // The address has it all: another window shows the same.
    browser.ask("save()");
    let address = browser.ask("location.href");
    assert!(address.as_str().is_some_and(|it| it.contains('#') && it.len() < 400), "{address}");
    browser.open_address(address.as_str().expect("an address"));
    bench.until("document.querySelectorAll('#constants input').length === 1");
    let state = browser.ask("[document.querySelector('#constants input').value, document.getElementById('algorithm').value, document.getElementById('example').value]");
    assert_eq!(state, json!(["8", "source", "optimal-dpor/readers.sel"]));
    // A program of one's own, too; and an address that is none does no harm.
    bench.set_program("thread mine { skip; } // é𝒳");
    browser.ask("save()");
    let address = browser.ask("location.href");
    browser.open_address(address.as_str().expect("an address"));
    bench.until("text.value === 'thread mine { skip; } // é𝒳'");
    browser.open_address(&format!("{}#nonsense", bench.server.address()));
    bench.until("text.value.includes('thread ann')");
    bench.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn a_long_check_is_stopped() {
    let Some(bench) = Workbench::open() else { return };
    let browser = &bench.browser;
    bench.set_program(LARGE);
    browser.click("#check");
    bench.until(
        "/[a-z]+: [\\d,]+ (executions|states)/.test(document.getElementById('status').textContent)",
    );
    assert_eq!(
        browser.ask(
            "[document.getElementById('check').disabled, document.getElementById('stop').disabled]"
        ),
        json!([true, false])
    );
    browser.click("#stop");
    // What it has found is shown.
    let told = bench.verdict();
    assert!(told.starts_with("inconclusive") && told.contains("interrupted"), "{told}");
    assert_eq!(browser.ask("document.getElementById('page').hidden"), json!(false));
    super::until("its process has ended", || bench.server.children().is_empty());
    // And with a key; then another one runs.
    browser.click("#text");
    browser.chord(&[key::CONTROL], key::ENTER);
    bench.until("document.querySelector('#status .running') !== null");
    browser.press([key::ESCAPE]);
    bench.until("document.querySelector('#status .inconclusive') !== null");
    bench.set_program("shared x = 0; thread t { x = 1; }");
    browser.click("#check");
    bench.until("document.querySelector('#status .verified') !== null");
    bench.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn algorithms_are_compared_and_constraints_found() {
    let Some(bench) = Workbench::open() else { return };
    let browser = &bench.browser;
    browser.click("#compare");
    bench.until("/^\\d+ algorithms$/.test(document.getElementById('status').textContent)");
    let names = browser.texts("#table tbody td:first-child");
    assert!(names.len() >= 10 && names.contains(&"optimal".to_owned()), "{names:?}");
    let widths = browser.ask("[...document.querySelectorAll('#table tr')].filter(row => ['oracle', 'optimal'].includes(row.cells[0].textContent)).map(row => Number(row.querySelector('rect').getAttribute('width')))");
    let widths: Vec<f64> = serde_json::from_value(widths).expect("two numbers");
    assert!(widths.contains(&100.0) && widths.iter().any(|&it| it < 50.0), "{widths:?}");

    browser.ask("useExample('constrained/bounded-buffer.sel')");
    bench.until("example.name === 'constrained/bounded-buffer.sel' && text.value === example.text");
    browser.click("#constraints");
    bench.until("/^\\d+ pairs in/.test(document.getElementById('status').textContent)");
    let before = browser.ask("text.value.length").as_u64();
    browser.click("#table button:not([disabled])");
    assert!(browser.ask("text.value.length").as_u64() > before);
    bench.settled();
    bench.until("document.querySelectorAll('#problems .error').length === 0");
    bench.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn the_editor_is_one_for_the_keyboard() {
    let Some(bench) = Workbench::open() else { return };
    let browser = &bench.browser;
    bench.type_program("thread t {");
    browser.press([key::ENTER]);
    browser.press("skip;".chars());
    assert_eq!(browser.ask("text.value"), "thread t {\n    skip;");
    browser.press([key::ENTER, key::TAB, '}']);
    assert_eq!(browser.ask("text.value"), "thread t {\n    skip;\n        }");
    browser.chord(&[key::SHIFT], key::TAB);
    browser.chord(&[key::SHIFT], key::TAB);
    assert_eq!(browser.ask("text.value"), "thread t {\n    skip;\n}");
    browser.chord(&[key::CONTROL], 'z');
    assert_ne!(browser.ask("text.value"), "thread t {\n    skip;\n}", "it can be undone");
    bench.set_program("shared   x=0;thread t{x=1;}");
    browser.chord(&[key::CONTROL, key::SHIFT], 'F');
    bench.until("text.value === 'shared x = 0; thread t { x = 1; }\\n'");
    // Escape lets Tab leave the editor.
    browser.click("#text");
    browser.press([key::ESCAPE, key::TAB]);
    assert_ne!(browser.ask("document.activeElement.id"), "text");
    browser.click("#help-button");
    assert_eq!(browser.ask("document.getElementById('help').open"), true);
    // The three layers are the same text, in the same place.
    browser.press([key::ESCAPE]);
    bench.set_program(&"// a line that is long enough to be scrolled, and a comment /* that nests */ as well as \"a string\" in it\n".repeat(100));
    browser.ask("(text.scrollTop = 400, text.scrollLeft = 50)");
    bench
        .until("document.getElementById('colours').style.transform === 'translate(-50px, -400px)'");
    assert_eq!(
        browser.ask("document.getElementById('colours').textContent === text.value + '\\n'"),
        true
    );
    assert_eq!(browser.ask("document.getElementById('numbers').scrollTop"), 400);
    bench.nothing_is_logged();
}

/// Everything from a program, and from an address, is text.
#[test]
fn a_hostile_program_runs_nothing() {
    let Some(bench) = Workbench::open() else { return };
    let browser = &bench.browser;
    let hostile =
        "</textarea></script><img src=x onerror=window.hacked=1><svg onload=window.hacked=1>";
    let program =
        format!("shared x = 0; // {hostile}\nthread t {{ x = 1; assert x == 0, \"{hostile}\"; }}");
    bench.set_program(&program);
    browser.click("#check");
    let told = bench.verdict();
    assert!(told.contains(hostile), "{told}");
    browser.enter("#page");
    bench.until("document.getElementById('verdict')?.textContent === 'violated'");
    assert_eq!(
        browser.ask("[typeof window.hacked, document.querySelectorAll('img').length]"),
        json!(["undefined", 0])
    );
    // The page knows nothing of the workbench around it.
    assert_eq!(
        browser
            .ask("(() => { try { return parent.document.title } catch { return 'nothing' } })()"),
        "nothing"
    );
    assert_eq!(browser.ask("window.origin"), "null");
    browser.leave();
    browser.click("#compare");
    bench.until("/^\\d+ algorithms$/.test(document.getElementById('status').textContent)");
    bench.set_program(&format!("{program} {hostile}"));
    bench.until("document.querySelectorAll('#problems li').length > 0");
    browser.ask("save()");
    let address = browser.ask("location.href");
    browser.open_address(address.as_str().expect("an address"));
    bench.until("text.value.includes('onerror')");
    assert_eq!(
        browser.ask("[typeof window.hacked, document.querySelectorAll('img, svg[onload]').length]"),
        json!(["undefined", 0])
    );
    bench.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn light_dark_wide_and_narrow() {
    let Some(bench) = Workbench::open() else { return };
    let browser = &bench.browser;
    let ground = || browser.ask("getComputedStyle(document.body).backgroundColor");
    browser.click("#check");
    bench.verdict();
    let before = ground();
    browser.click("#theme");
    assert_ne!(ground(), before);
    browser.enter("#page");
    bench.until("document.documentElement.dataset.theme !== undefined");
    let inside: Value = ground();
    browser.leave();
    assert_eq!(inside, ground(), "the page has the same theme");
    for (width, height) in [(1600, 900), (1280, 800), (1000, 700), (600, 900), (400, 800)] {
        browser.resize(width, height);
        browser.open_address(&bench.server.address());
        bench.until(
            "text.value !== '' && document.querySelectorAll('#algorithm option').length > 5",
        );
        assert_eq!(
            browser.ask("document.documentElement.scrollWidth <= innerWidth"),
            true,
            "{width}"
        );
        if width >= 1280 {
            let height = browser.ask("document.querySelector('header').clientHeight");
            assert!(
                height.as_u64().is_some_and(|height| height < 60),
                "one row: {width}: {height}"
            );
        }
        for panel in ["text", "right", "check"] {
            let size = browser.ask(&format!("(box => [box.width, box.height])(document.getElementById('{panel}').getBoundingClientRect())"));
            let [width, height]: [f64; 2] = serde_json::from_value(size).expect("two numbers");
            assert!(width > 40.0 && height > 20.0, "{panel}: {width} {height}");
        }
    }
    bench.nothing_is_logged();
}
