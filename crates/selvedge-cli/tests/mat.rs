//! `selvedge mat`: the picture.

use crate::common::Folder;

/// Every row of the picture lies within it.
#[test]
fn the_picture_is_as_high_as_its_rows() {
    let text = "shared x = 0;\nthread a { x = 1; x = 2; x = 3; }\nthread b { let _v = x; }\n";
    let folder = Folder::with("two.sel", text);
    folder.run("mat two.sel --svg two.svg").exits(0);
    let picture = std::fs::read_to_string(folder.path().join("two.svg")).expect("it was written");
    inside(&picture);
    let count = |part: &str| picture.matches(part).count();
    assert_eq!((count("class=\"step"), count("class=\"conflict")), (4, 3), "{picture}");
}

/// Everything lies within the picture.
fn inside(picture: &str) {
    let numbers = |key: &str| -> Vec<usize> {
        let begins = format!(" {key}=\"");
        let parts = picture.split(&begins).skip(1);
        parts.filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
    };
    for (size, places) in [("width", ["x", "cx", "x1", "x2"]), ("height", ["y", "cy", "y1", "y2"])]
    {
        let size = numbers(size)[0];
        let most = places.iter().flat_map(|key| numbers(key)).max().expect("something is drawn");
        assert!(most < size && most > size / 2, "{most} of {size}\n{picture}");
    }
}

/// Three threads are three pairs, each with its own letters, and a line says what a check keeps.
#[test]
fn any_number_of_threads() {
    let text = "shared x = 0; shared y = 0;\nthread p { x = 1; y = 1; }\nthread q { let v = y; x = v; }\nthread r { y = 2; }\n";
    let folder = Folder::with("three.sel", text);
    let run = folder.run("mat three.sel --svg three.svg").exits(0);
    let run = run.says("threads p and q").says("threads p and r").says("threads q and r");
    let run = run.says("\n2b    W(x)  three.sel:3:23\n").says("\n1c    W(y)  three.sel:4:12\n");
    let run = run.says("\nall 3 threads together: check --symbolic mat passes the token between ");
    let kept =
        run.out.lines().last().and_then(|line| line.split(" between ").nth(1)).expect("a number");
    let stats = folder.run("check three.sel --symbolic mat --stats").exits(0);
    let (kept, pairs) = kept.split_once(" of ").expect("two numbers");
    let pairs = pairs.split(' ').next().expect("a number");
    let stats = stats
        .says(&format!("pairs (#P): {pairs}   after analysis: {kept}   transactions (#MAT): "));
    assert!(!stats.out.contains("transactions (#MAT): 0"), "{}", stats.out);
    let picture = folder.read("three.svg");
    inside(&picture);
    // Each thread is in two pairs, and has its colour in both.
    for (number, thread) in ["p", "q", "r"].iter().enumerate() {
        let names = picture.lines().filter(|line| line.contains(&format!(">{thread}</text>")));
        let names: Vec<&str> = names.filter(|line| line.contains("class=\"name ")).collect();
        let own = format!("class=\"name c{number}\"");
        assert!(names.len() == 2 && names.iter().all(|name| name.contains(&own)), "{names:?}");
    }
    let one =
        Folder::with("one.sel", "shared x = 0; thread a { x = 1; }").run("mat one.sel").exits(2);
    one.complains("transactions are between threads, and only one touches something shared");
}

/// What each step does, and all pairs of steps of threads that are not equally long.
#[test]
fn steps_that_create_and_wait_and_pairs_of_unequal_threads() {
    let text = "shared x = 0;\nthread main { let t = spawn work(); x = 1; join t; x = 3; }\nproc work() { x = 2; }\n";
    let run = Folder::with("two.sel", text).run("mat two.sel").exits(0);
    let run = run.says("\n1a    spawn  two.sel:2:23\n").says("\n2a    W(x)   two.sel:2:37\n");
    run.says("\n3a    join   two.sel:2:44\n").says("\n8 of 8 pairs are left: ");
}

/// What has no encoding is named.
#[test]
fn promises_have_no_encoding() {
    for promise in ["eventually x == 1;", "always x < 2;"] {
        let text = format!(
            "mutex m; shared x = 0; {promise} thread a {{ lock m; unlock m; }} thread b {{ lock m; x = 1; unlock m; }}"
        );
        let run = Folder::with("promise.sel", &text).run("mat promise.sel").exits(2);
        run.complains("there is no symbolic encoding for that");
    }
}
