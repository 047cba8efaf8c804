//! The data of pages as a whole, compared with files. `UPDATE_EXPECT=1` writes them.

use std::path::PathBuf;

use serde_json::Value;

use crate::common::Folder;

/// A violation, a deadlock, two data races, several violations with threads that are spawned, a proof, and a read that misses a write.
const PAGES: &[(&str, &str)] = &[
    ("bugs/aba", ""),
    ("locks/philosophers", ""),
    ("bugs/data-race", "--races --keep-going"),
    ("bugs/two-kinds", "--keep-going"),
    ("features/fork-join", ""),
    ("weak-memory/message-passing-relaxed", "--memory rc11 --keep-going"),
];

#[test]
fn the_data_of_pages() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for (name, options) in PAGES {
        let text = std::fs::read(root.join(format!("../../programs/{name}.sel")));
        let folder = Folder::new();
        folder.write("program.sel", &text.expect("the program is in the repository"));
        folder.run(&format!("check program.sel --html page.html --quiet {options}"));
        let mut data = data_of(&folder.read("page.html"));
        (data["seconds"], data["version"]) = (0.into(), Value::Null);
        let expected = root.join(format!("tests/pages/{}.json", name.replace('/', "-")));
        let shown = format!("{data:#}\n");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&expected, &shown).expect("the file can be written");
        }
        let expected = std::fs::read_to_string(&expected).expect("the file is in the repository");
        assert_eq!(shown, expected, "{name}; UPDATE_EXPECT=1 writes it");
    }
}

/// The data in a page.
pub(crate) fn data_of(page: &str) -> Value {
    let mark = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = page.split_once(mark).expect("the page has data");
    let (data, _) = rest.split_once("</script>").expect("it ends");
    serde_json::from_str(data).expect("it is JSON")
}
