//! Pages in a real browser: Chromium, driven by its WebDriver. Without one these tests are skipped and say so;
//! `SELVEDGE_NEED_BROWSER=1` makes that an error. `cargo test` runs two of them, `-- --include-ignored` all.

pub(crate) mod driver;

use std::fmt::Write as _;
use std::path::PathBuf;

use driver::{Browser, key};
use serde_json::{Value, json};

use crate::common::{DEADLOCK, Folder, LOCKED};

/// A page in a folder of its own, open in a browser.
struct Page {
    browser: Browser,
    folder: Folder,
}

impl Page {
    /// Opens the page that a command writes for a program. `None`: there is no browser.
    fn of(program: &str, arguments: &str) -> Option<Self> {
        let browser = Browser::start()?;
        let folder = Folder::with("program.sel", program);
        let page = Self { browser, folder };
        page.make(arguments);
        Some(page)
    }

    /// Makes another page of the program.
    fn make(&self, arguments: &str) {
        let run =
            self.folder.run(&format!("check program.sel --html page.html --quiet {arguments}"));
        assert!(matches!(run.code, Some(0 | 1 | 3)), "{run:#?}");
        self.open("");
    }

    fn open(&self, hash: &str) {
        self.browser.open(&self.folder.path().join("page.html"), hash);
    }

    #[track_caller]
    fn is(&self, expression: &str, expected: impl Into<Value>) {
        assert_eq!(self.browser.ask(expression), expected.into(), "{expression}");
    }

    fn count(&self, selector: &str) -> usize {
        self.browser.texts(selector).len()
    }

    /// Checks that the browser has nothing to complain about.
    #[track_caller]
    fn nothing_is_logged(&self) {
        assert_eq!(self.browser.log(), Vec::<String>::new());
    }
}

fn program(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name);
    std::fs::read_to_string(path).expect("the program is in the repository")
}

#[test]
fn keys_move_through_the_execution() {
    let Some(page) = Page::of(&program("bugs/aba.sel"), "") else { return };
    let browser = &page.browser;
    let last = browser.ask("rows.length").as_u64().expect("a number") - 1;
    page.is("current", last);
    page.is("document.getElementById('verdict').textContent", "violated");
    browser.press([key::HOME]);
    page.is("current", 0);
    page.is("location.hash", "#1");
    browser.press(['j', key::DOWN, 'k']);
    page.is("current", 1);
    // The next switch, then back to the same thread's step before.
    browser.press([key::HOME, 'n']);
    page.is("rows[current].thread !== rows[current - 1].thread", true);
    let thread = browser.ask("rows[current].thread");
    browser.press([']']);
    page.is("rows[current].thread", thread);
    browser.press([key::END]);
    page.is("current", last);
    page.is("document.querySelectorAll('#lanes [role=option][aria-selected=true]').length", 1);
    browser.press(['?']);
    page.is("document.getElementById('help').hidden", false);
    browser.press([key::ESCAPE]);
    page.is("document.getElementById('help').hidden", true);
    page.open("#3");
    page.is("current", 2);
    page.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn values_lead_to_who_wrote_them_and_h_fades_the_rest() {
    let Some(page) = Page::of(&program("bugs/aba.sel"), "") else { return };
    let browser = &page.browser;
    // The last write to the head: the slow thread's compare-exchange.
    assert_eq!(browser.texts("table.values tr.changed td:first-child"), ["head"]);
    let value = |name: &str| {
        let rows = "[...document.querySelectorAll('table.values tr')]";
        browser.ask(&format!(
            "{rows}.find(row => row.cells[0].textContent === {}).cells[1].textContent",
            json!(name)
        ))
    };
    assert_eq!((value("head"), value("fast_owns_b")), (json!("1"), json!("true")));
    let writer = "[...document.querySelectorAll('table.values tr')].find(row => row.cells[0].textContent === 'fast_owns_b')";
    let told = browser.ask(&format!("{writer}.cells[2].textContent"));
    browser.ask(&format!("{writer}.querySelector('button').click()"));
    let at = browser.ask("`${rows[current].name}, step ${current + 1}`");
    assert_eq!(told, at);
    page.is("document.activeElement.id", "lanes");
    page.is("rows[current].accesses.some(access => access.object === 'fast_owns_b')", true);
    page.is("document.querySelectorAll('#source .at').length", 1);

    // What fails after the last step is said below it, and leads to its place.
    let failed = browser.texts("#lanes .judged");
    assert!(
        failed[0].starts_with("✗ assertion `!(fast_owns_b && head == B)` is false"),
        "{failed:?}"
    );
    browser.click("#lanes .judged");
    page.is(
        "(box => { const line = box.querySelector('.wrong').getBoundingClientRect(), all = box.getBoundingClientRect(); \
         return line.top >= all.top && line.bottom <= all.bottom; })(document.getElementById('source'))",
        true,
    );

    browser.press([key::HOME]);
    assert_eq!(page.count(".row.faded"), 0);
    browser.press(['h']);
    let all = browser.ask("rows.length").as_u64().expect("a number");
    assert_eq!(page.count(".row.faded") as u64, all - 1, "nothing happened before the first step");
    browser.press(['h']);
    assert_eq!(page.count(".row.faded"), 0);
    page.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn light_and_dark() {
    let Some(page) = Page::of(LOCKED, "") else { return };
    let ground = || page.browser.ask("getComputedStyle(document.body).backgroundColor");
    let before = ground();
    page.browser.click("#theme");
    let after = ground();
    assert_ne!(before, after);
    page.browser.click("#theme");
    assert_eq!(ground(), before);
    page.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn a_deadlock_is_a_cycle_of_dashed_arrows() {
    let Some(page) = Page::of(&program("locks/philosophers.sel"), "") else { return };
    assert_eq!(page.count("#lanes .edge.waits"), 3);
    assert_eq!(page.count(".row.wrong"), 3);
    page.folder.write("program.sel", DEADLOCK.as_bytes());
    page.make("");
    assert_eq!(page.count("#lanes .edge.waits"), 2);
    let title = page.browser.texts("#lanes .edge.waits title");
    assert!(title[0].contains("waits for b, which second took in step"), "{title:?}");
    page.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn a_race_joins_its_two_accesses() {
    let Some(page) = Page::of(&program("bugs/data-race.sel"), "--races") else { return };
    assert_eq!((page.count("#lanes .edge.race"), page.count(".row.wrong")), (1, 2));
    page.is("isPast(run.race[0] - 1, run.race[1] - 1)", false);
    page.browser.press([key::END]);
    let told = page.browser.texts("#details p.bad");
    assert_eq!(told, ["a data race with step 2: nothing orders these two accesses"]);
    page.nothing_is_logged();
}

/// Steps that repeat have a mark and an arrow back; a read is joined with the newer write that it does not see.
#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn a_lasso_and_a_stale_read_are_drawn() {
    let Some(page) = Page::of(&program("states/starvation.sel"), "") else { return };
    assert_eq!(page.browser.texts(".edge.cycle title"), ["steps 2 to 4 repeat forever"]);
    let numbers = page.browser.texts("#lanes .number");
    assert_eq!(numbers, ["1", "↻ 2", "↻ 3", "↻ 4"]);
    page.folder.write("program.sel", program("weak-memory/message-passing-relaxed.sel").as_bytes());
    page.make("--memory rc11");
    assert_eq!(page.browser.texts(".edge.missed title"), ["step 4 does not see what step 1 wrote"]);
    assert!(page.browser.texts("#meta")[0].contains("memory model rc11"));
    // The step is longer than its lane: what it writes, and what it returns, is still there.
    page.browser.resize(420, 800);
    page.open("");
    let texts = page.browser.texts("#lanes .row .text");
    assert!(texts[0].starts_with("store(data, 1") && texts[0].ends_with('…'), "{texts:?}");
    assert!(texts[3].contains('…') && texts[3].ends_with("→ 0"), "{texts:?}");
    page.browser.press(['e']);
    assert_eq!(page.browser.texts("#tree .node .bad"), ["violated"]);
    let told = page.browser.texts("#details p.bad");
    assert!(
        told[1].starts_with("does not see step 1, which is newer: writer: store(data"),
        "{told:?}"
    );
    page.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn several_violations_have_a_chooser() {
    let Some(page) = Page::of(&program("bugs/two-kinds.sel"), "--keep-going") else { return };
    page.is("document.getElementById('chooser').hidden", false);
    let options = page.browser.texts("#violation option");
    assert!(options.len() >= 2, "{options:?}");
    let before = page.browser.texts("#message");
    page.browser.ask("(document.getElementById('violation').value = 1, document.getElementById('violation').onchange())");
    assert_ne!(page.browser.texts("#message"), before);
    assert!(options[1].ends_with(&page.browser.texts("#message")[0]), "{options:?}");
    page.open("#2.1");
    page.is("[runs.indexOf(run), current]", json!([1, 0]));
    page.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn the_exploration_is_an_outline() {
    let Some(page) = Page::of(&program("bugs/aba.sel"), "--keep-going") else { return };
    let browser = &page.browser;
    browser.press(['e']);
    page.is("document.getElementById('exploration').hidden", false);
    let leaves = page.browser.ask("DATA.tree.ending.filter(Boolean).length");
    assert_eq!(leaves, 13);
    assert_eq!(browser.texts("#tree .node .bad"), ["violated"]);
    page.is("document.querySelector('#tree .node.current .bad').textContent", "violated");
    let open = page.count("#tree .node");
    browser.press([key::HOME, key::LEFT]);
    assert_eq!(page.count("#tree .node"), 1);
    browser.press([key::RIGHT]);
    assert!(page.count("#tree .node") <= open);
    browser.press(['e']);
    page.is("document.getElementById('run').hidden", false);
    page.nothing_is_logged();
}

#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn a_proof_has_a_page() {
    let Some(page) = Page::of(LOCKED, "") else { return };
    page.is("document.getElementById('verdict').textContent", "verified");
    page.is("document.getElementById('tab-run').hidden", true);
    let summary = page.browser.texts("#summary tr").join("\n");
    for expected in ["assertions, deadlocks", "2 complete", "parsimonious", "not covered"] {
        assert!(summary.contains(expected), "no `{expected}` in\n{summary}");
    }
    page.browser.click("#tab-tree");
    assert_eq!(page.count("#tree .node .good"), 2);
    page.nothing_is_logged();
}

/// Twenty thousand executions: only the rows in view are in the document.
#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn a_large_tree_opens_at_once() {
    let large = "shared x = 0; thread t(i in 0..4) { x += 1; x += 1; x += 1; }";
    let Some(page) = Page::of(large, "--max-executions 20000") else { return };
    page.browser.click("#tab-tree");
    page.is("DATA.tree.executions", 20_000);
    let rows = page.browser.ask("tree.openAll()").as_u64().expect("a number");
    assert!(rows > 20_000, "{rows}");
    assert!(page.count("#tree .node") < 80);
    page.browser.press([key::END]);
    assert!(page.count("#tree .node") < 80);
    page.nothing_is_logged();
}

/// Five thousand steps: only the rows in view are in the document, and all are reached.
#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn a_long_execution_opens_at_once() {
    let long = "shared x = 0; thread t(i in 0..8) { for k in 0..640 { x += 1; } } finally { assert x == 0; }";
    let Some(page) = Page::of(long, "--sample 1 --max-steps 100000") else { return };
    let steps = page.browser.ask("rows.length").as_u64().expect("a number");
    assert!(steps >= 5_000, "{steps}");
    assert!(page.count("#lanes .row") < 100);
    page.is("current", steps - 1);
    // Its schedule is long, too.
    page.is("document.querySelector('header').clientHeight < 120", true);
    page.browser.press([key::HOME, 'n', 'h']);
    assert!(page.count("#lanes .row") < 100);
    page.nothing_is_logged();
}

/// Everything from a program is text. The page of a hostile one shows it and runs nothing.
#[test]
fn a_hostile_program_runs_nothing() {
    const HOSTILE: &str = "</script><img src=x onerror=window.hacked=1><svg onload=window.hacked=1><!-- ${window.hacked=1} javascript:window.hacked=1";
    let mut program = String::new();
    let _ = writeln!(program, "// {HOSTILE}");
    let _ = writeln!(program, "shared x = 0;\nthread t {{ x = 1; assert x == 0, \"{HOSTILE}\"; }}");
    let Some(page) = Page::of(&program, "") else { return };
    page.browser.press([key::HOME, 'j', 'h', 'e', 'e', key::ENTER]);
    page.is("typeof window.hacked", "undefined");
    page.is("document.querySelectorAll('img, #message *, svg[onload]').length", 0);
    assert!(page.browser.texts("#message")[0].contains(HOSTILE));
    assert!(page.browser.texts("#source")[0].contains(HOSTILE));
    page.nothing_is_logged();

    // The name of the file, too. It has no `/`, which no name can have.
    let name = "<img src=x onerror=window.hacked=1>.sel";
    page.folder.write(name, program.as_bytes());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.args(["check", name, "--html", "page.html", "--quiet"]);
    crate::common::finish(page.folder.start(command)).exits(1);
    page.open("");
    page.is(
        "[typeof window.hacked, document.querySelectorAll('img').length]",
        json!(["undefined", 0]),
    );
    assert!(page.browser.texts("#meta")[0].contains(name));
    page.nothing_is_logged();
}

/// No edge passes through a text, and what a step read or wrote can be read, also where texts are longer than their lanes.
#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn edges_cross_no_text_and_values_stay_readable() {
    const CROSSED: &str = "(() => {
        const texts = [...document.querySelectorAll('#lanes .row text')].map(it => [it.textContent, it.getBBox()]);
        const isIn = ({ x, y }, box) => x > box.x && x < box.x + box.width && y > box.y + 1 && y < box.y + box.height - 1;
        const crossed = [];
        for (const path of document.querySelectorAll('#lanes .edge:not(.cycle)')) {
            for (let at = 0; at < path.getTotalLength(); at += 2) {
                const hit = texts.find(([, box]) => isIn(path.getPointAtLength(at), box));
                if (hit) { crossed.push(`${path.textContent}: ${hit[0]}`); break; }
            }
        }
        return crossed;
    })()";
    const UNREADABLE: &str = "run.trace.flatMap(row => row.accesses
        .filter(({ mode }) => mode === 'read' || mode === 'write')
        .map(access => access.read ?? access.wrote)
        .filter(value => value !== undefined && row.text.includes(value))
        .filter(value => !fit(row, laneWidth[row.lane]).includes(value))
        .map(value => `${value}: ${fit(row, laneWidth[row.lane])}`))";
    let Some(page) = Page::of("thread t { skip; }", "") else { return };
    for (name, arguments) in [
        ("locks/philosophers.sel", ""),
        ("bugs/aba.sel", ""),
        ("bugs/two-kinds.sel", "--keep-going"),
        ("bugs/data-race.sel", "--races"),
        ("bugs/message-order.sel", ""),
        ("weak-memory/message-passing-relaxed.sel", "--memory rc11"),
        ("weak-memory/peterson-release-acquire.sel", "--memory rc11"),
        ("weak-memory/iriw-relaxed-writes.sel", "--memory rc11"),
    ] {
        page.folder.write("program.sel", program(name).as_bytes());
        for width in [1280, 420] {
            page.browser.resize(width, 800);
            page.make(arguments);
            assert!(page.count("#lanes .edge:not(.cycle)") > 0, "{name} has edges");
            assert_eq!(page.browser.ask(CROSSED), json!([]), "{name}, {width}");
            assert_eq!(page.browser.ask(UNREADABLE), json!([]), "{name}, {width}");
        }
    }
    page.nothing_is_logged();
}

/// Names that differ at their ends only can be told apart.
#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn long_names_of_threads_keep_their_ends() {
    let long = "shared x = 0; thread a_worker_with_a_very_long_name_indeed(i in 0..4) { x += 1; } finally { assert x == 0; }";
    let Some(page) = Page::of(long, "") else { return };
    page.browser.resize(420, 800);
    page.open("");
    let names = page.browser.texts("#lanes .names span");
    for (name, number) in names.iter().zip(0..) {
        assert!(name.contains('…') && name.ends_with(&format!("[{number}]")), "{names:?}");
    }
    page.is("[...document.querySelectorAll('#lanes .names span')].every(it => it.scrollWidth <= it.clientWidth)", true);
    page.nothing_is_logged();
}

/// A check that proves nothing says what to do next.
#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn an_inconclusive_page_has_the_next_step() {
    let long = "shared x = 0; thread t(i in 0..3) { x += 1; }";
    let Some(page) = Page::of(long, "--max-executions 2") else { return };
    page.is("document.getElementById('verdict').textContent", "inconclusive");
    assert_eq!(page.browser.texts("#meta .next"), ["next: raise the limit: --max-executions 20"]);
    let summary = page.browser.texts("#summary tr").join("\n");
    assert!(summary.contains("next stepraise the limit"), "{summary}");
    page.nothing_is_logged();
}

/// Nothing is covered or wider than the window.
#[test]
#[ignore = "a campaign, in a browser: scripts/campaigns"]
fn a_narrow_window_has_everything() {
    let Some(page) = Page::of(&program("locks/philosophers.sel"), "") else { return };
    page.browser.resize(500, 900);
    page.open("");
    page.is("document.documentElement.scrollWidth <= innerWidth", true);
    // Numbers of steps stay where they are when the lanes are scrolled.
    page.is("document.getElementById('lanes').scrollLeft > 0", true);
    page.is("document.querySelector('#lanes .number').getBoundingClientRect().left >= 0", true);
    for panel in ["lanes", "source", "details"] {
        let height = page.browser.ask(&format!("document.getElementById('{panel}').clientHeight"));
        assert!(height.as_u64().expect("a number") > 80, "{panel}: {height}");
    }
    page.nothing_is_logged();
}
