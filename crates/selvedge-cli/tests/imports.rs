//! Programs of several files.

use crate::common::Folder;

const MAIN: &str = "import \"lib/lock.sel\";
const N = 2;
shared x = 0;
thread t(i in 0..N) { enter(i); x += 1; leave(); }
finally { assert x == N && entered == N; }
";

const LOCK: &str = "import \"limits.sel\";

mutex m;
ghost entered = 0;
proc enter(i: int) {
    lock m;
    assert i < MOST, \"too many\";
    entered += 1;
}
proc leave() { unlock m; }
";

fn program() -> Folder {
    let folder = Folder::with("main.sel", MAIN);
    std::fs::create_dir(folder.path().join("lib")).expect("a folder can be made");
    folder.write("lib/lock.sel", LOCK.as_bytes());
    folder.write("lib/limits.sel", b"const MOST = 2;\n");
    folder
}

#[test]
fn files_are_one_program() {
    let folder = program();
    folder.run("check main.sel").exits(0).says("verified: no violation in 2 executions");
    // From elsewhere, and with a constant of the last file.
    let run = folder.run("check ./main.sel --const MOST=1").exits(1);
    let run = run.says("./lib/lock.sel:7:12").says("assert i < MOST, \"too many\";");
    assert!(run.out.contains("replay: selvedge replay ./main.sel --const MOST=1"), "{}", run.out);
    let json = folder.run("check main.sel --const MOST=1 --json").exits(1).json();
    assert_eq!(json["violations"][0]["places"][0]["file"], "lib/lock.sel");
    folder.run("check main.sel --const MOST=1 --html page.html").exits(1);
    let page = folder.read("page.html");
    assert!(
        page.contains("proc enter(i: int)") && page.contains("shared x = 0;"),
        "both are shown"
    );
    for algorithm in ["states", "sleep", "constrained"] {
        folder.run(&format!("check main.sel --algorithm {algorithm}")).exits(0);
    }
}

#[test]
fn a_trace_belongs_to_all_files() {
    let folder = program();
    folder.run("check main.sel --const MOST=1 --save-trace it.trace").exits(1);
    let same = folder.run("replay --trace it.trace").exits(1);
    assert!(!same.err.contains("has changed"), "{}", same.err);
    folder.write("lib/limits.sel", b"const MOST = 3; // changed\n");
    folder
        .run("replay --trace it.trace")
        .complains("main.sel has changed since the trace was saved");
}

#[test]
fn a_checkpoint_belongs_to_all_files() {
    let folder = program();
    let check = "check main.sel --const N=9 --const MOST=9 --checkpoint a.ckpt --time 1ms";
    folder.run(check).exits(3).says("selvedge resume a.ckpt");
    let kept = folder.read("a.ckpt");
    // A comment changes nothing that runs, but lines and columns that are shown.
    folder.write("lib/limits.sel", b"// changed\nconst MOST = 2;\n");
    let changed = "lib/limits.sel has changed since the checkpoint was written";
    folder.run("resume a.ckpt").exits(2).complains(changed);
    folder.write("lib/limits.sel", b"const MOST = 2;\n");
    // One that imports another file than it did.
    folder.write("lib/more.sel", b"const MORE = 1;\n");
    folder.write("lib/lock.sel", format!("import \"more.sel\";\n{LOCK}").as_bytes());
    let changed = "lib/lock.sel has changed since the checkpoint was written";
    folder.run("resume a.ckpt").exits(2).complains(changed);
    folder.write("lib/lock.sel", LOCK.as_bytes());
    folder.write("main.sel", format!("{MAIN}\n").as_bytes());
    let changed = "main.sel has changed since the checkpoint was written";
    folder.run("resume a.ckpt").exits(2).complains(changed);
    assert_eq!(folder.read("a.ckpt"), kept, "nothing is overwritten");
    folder.write("main.sel", MAIN.as_bytes());
    folder.run("resume a.ckpt --time 1ms").exits(3).says("selvedge resume a.ckpt");
}

#[test]
fn what_is_wrong_is_told_where_it_is() {
    let folder = program();
    folder.write("lib/limits.sel", b"const MOST = ;\n");
    folder.run("check main.sel").exits(2).complains(" --> lib/limits.sel:1:14");
    folder.write("lib/limits.sel", b"const MOST = 2;\nshared x = 1;\n");
    let clash = folder.run("check main.sel").exits(2);
    assert!(
        clash.err.contains("lib/limits.sel:2:8") && clash.err.contains("main.sel:3:8"),
        "{}",
        clash.err
    );
    std::fs::remove_file(folder.path().join("lib/limits.sel")).expect("it was there");
    let missing = folder.run("check main.sel").exits(2);
    let missing = missing.complains("cannot read `limits.sel`: there is no such file");
    assert!(missing.err.contains(" --> lib/lock.sel:1:1"), "{}", missing.err);
    folder.write("lib/limits.sel", b"import \"../main.sel\";\nconst MOST = 2;\n");
    let circle = folder.run("check main.sel").exits(2);
    let circle =
        circle.complains("in a circle: main.sel → lib/lock.sel → lib/limits.sel → main.sel");
    assert!(circle.err.contains(" --> lib/limits.sel:1:1"), "{}", circle.err);
    folder.write("self.sel", b"import \"./self.sel\";\nthread t { skip; }\n");
    folder.run("check self.sel").exits(2).complains("in a circle: self.sel → self.sel");
    folder.write("folder.sel", b"import \"lib\";\nthread t { skip; }\n");
    folder.run("check folder.sel").exits(2).complains("cannot read `lib`: it is a directory");
}

#[test]
fn each_file_is_formatted_for_itself() {
    let folder = program();
    folder.write("ugly.sel", b"import   \"lib/lock.sel\" ;\nthread t{enter(0);leave();}\n");
    folder.run("fmt ugly.sel").exits(0);
    let text = folder.read("ugly.sel");
    assert!(text.starts_with("import \"lib/lock.sel\";\nthread t {"), "{text}");
    assert_eq!(folder.read("lib/lock.sel"), LOCK);
}

#[test]
fn constants_as_the_language_writes_them() {
    let folder = Folder::with("n.sel", "const N = 1;\nthread t { assert N == 31 || N == -16; }\n");
    folder.run("check n.sel --const N=0x1f").exits(0);
    folder.run("check n.sel --const N=-0x1_0").exits(0);
    folder.run("check n.sel --const N=0xg").exits(2).complains("`0xg` is no number");
    folder.run("check n.sel --const N=--1").exits(2).complains("no number");
}

/// Beyond the limits there is an error at the import.
#[test]
fn too_large_and_too_many() {
    let folder = Folder::with("main.sel", "import \"large.sel\";\nthread t { }\n");
    folder.write("large.sel", &vec![b' '; (16 << 20) + 1]);
    let run = folder.run("check main.sel").exits(2);
    run.complains("it is larger than 16 MiB").complains("main.sel:1:");
    let chain = |number: u32, last: u32| {
        let name = format!("c{number}.sel");
        let text = match number < last {
            true => format!("import \"c{}.sel\";\n", number + 1),
            false => "const LAST = 1;\n".to_owned(),
        };
        folder.write(&name, text.as_bytes());
    };
    folder.write("first.sel", b"import \"c1.sel\";\nthread t { assert LAST == 1; }\n");
    (1..=255).for_each(|number| chain(number, 255));
    folder.run("check first.sel").exits(0);
    (1..=256).for_each(|number| chain(number, 256));
    folder.run("check first.sel").exits(2).complains("a program has at most 256 files");
}
