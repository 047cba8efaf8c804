//! Names of objects without the file they were made in, for reports that would have no room else.

use std::collections::BTreeMap;

use selvedge_report::TraceView;

/// The execution with shorter names, and the file that they go without: the one with most names.
pub(crate) fn shorten(view: &TraceView) -> Option<(TraceView, String)> {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts(view) {
        for file in files_in(text) {
            *files.entry(file).or_default() += 1;
        }
    }
    let file = files.into_iter().max_by_key(|&(_, count)| count)?.0.to_owned();
    let (long, mut view) = (format!("@{file}:"), view.clone());
    for step in &mut view.steps {
        step.text = step.text.replace(&long, "@");
        // What a read does not see is told with the name of its object.
        for access in &mut step.accesses {
            access.object = access.object.replace(&long, "@");
        }
    }
    for waiting in &mut view.waiting {
        waiting.text = waiting.text.replace(&long, "@");
    }
    Some((view, file))
}

fn texts(view: &TraceView) -> impl Iterator<Item = &str> {
    let steps = view.steps.iter().map(|step| &*step.text);
    steps.chain(view.waiting.iter().map(|waiting| &*waiting.text))
}

/// The files in names like `Mutex@queue.rs:12`.
fn files_in(text: &str) -> impl Iterator<Item = &str> {
    let after_names = text.split('@').skip(1);
    let files = after_names.filter_map(|rest| Some(rest.split_once(':')?.0));
    files.filter(|file| file.ends_with(".rs") && !file.contains(' '))
}
