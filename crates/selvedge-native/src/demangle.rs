//! Names of C++: what a person would write, and which belong to the standard library.
//!
//! `c++filt`, which comes with the linker, reads them. It is started for the first name that needs it, which is when
//! something is shown.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustc_hash::FxHashMap;

/// Translates symbols of a module.
#[derive(Default)]
pub(crate) struct Demangler {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    filter: Option<Option<Filter>>,
    known: FxHashMap<String, String>,
}

struct Filter {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Filter {
    fn drop(&mut self) {
        // Its input is still open, so it would not end by itself before this does.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Filter {
    fn start() -> Option<Self> {
        let mut command = Command::new("c++filt");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().ok()?;
        let (input, output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        Some(Self { child, input, output })
    }

    fn ask(&mut self, name: &str) -> Option<String> {
        writeln!(self.input, "{name}").ok()?;
        self.input.flush().ok()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer).ok()?;
        let answer = answer.trim_end();
        (!answer.is_empty()).then(|| answer.to_owned())
    }
}

impl Demangler {
    /// Returns a symbol as it is in the source; the symbol itself if it is not one of C++.
    pub(crate) fn text(&self, symbol: &str) -> String {
        if !symbol.starts_with("_Z") {
            return symbol.to_owned();
        }
        let state = &mut *self.state.borrow_mut();
        if let Some(known) = state.known.get(symbol) {
            return known.clone();
        }
        let filter = state.filter.get_or_insert_with(Filter::start);
        let text = filter.as_mut().and_then(|filter| filter.ask(symbol));
        let text = text.unwrap_or_else(|| symbol.to_owned());
        state.known.insert(symbol.to_owned(), text.clone());
        text
    }
}

/// Whose a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Program,
    /// The standard library's, in its headers or its compiled part, or the shim's.
    Library,
    /// One of those by which the standard library starts a thread: what they access they hand over to it.
    Start,
}

impl Owner {
    /// Returns the owner of a symbol.
    pub(crate) fn of(symbol: &str) -> Self {
        let starts_with = |starts: &[&str]| starts.iter().any(|start| symbol.starts_with(start));
        if starts_with(&[
            "_ZNSt6thread6_State",
            "_ZNSt6thread11_State_impl",
            "_ZNSt6thread8_Invoker",
        ]) {
            return Owner::Start;
        }
        let is_known = symbol == "execute_native_thread_routine" || symbol.contains("__gthread_");
        if is_known || starts_with(&["__wrap_", "__tsan_", "selvedge_", "__cxa_"]) {
            return Owner::Library;
        }
        let Some(name) = symbol.strip_prefix("_Z") else { return Owner::Program };
        // A local one belongs to the function that it is in.
        let name = name.trim_start_matches('Z');
        let name = name.strip_prefix('N').unwrap_or(name);
        let name = name.trim_start_matches(['r', 'V', 'K', 'R', 'O']);
        let spaces = ["St", "Sa", "Sb", "Ss", "Si", "So", "Sd", "9__gnu_cxx", "10__cxxabiv1"];
        match spaces.iter().any(|space| name.starts_with(space)) {
            true => Owner::Library,
            false => Owner::Program,
        }
    }
}

/// Returns a name in which long template arguments are left out.
pub(crate) fn short(name: &str) -> String {
    const LONG: usize = 40;
    if name.len() <= LONG {
        return name.to_owned();
    }
    let (mut text, mut depth) = (String::new(), 0_u32);
    for letter in name.chars() {
        match letter {
            '<' => {
                if depth == 0 {
                    text.push_str("<…>");
                }
                depth += 1;
            }
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => text.push(letter),
            _ => {}
        }
    }
    text
}

/// Returns the name of a function without what it takes and returns: `worker(int)` becomes `worker`.
pub(crate) fn without_arguments(name: &str) -> String {
    let name = name.split(" [clone").next().unwrap_or(name);
    // Those of lambdas and of template arguments are inside of other brackets.
    let mut depth = 0_i32;
    for (at, letter) in name.char_indices() {
        match letter {
            '<' | '{' => depth += 1,
            '>' | '}' => depth -= 1,
            '(' if depth == 0 && at > 0 && !name[at..].starts_with("(anonymous") => {
                return last_word(&name[..at]).to_owned();
            }
            _ => {}
        }
    }
    name.to_owned()
}

/// A template function has its return type before its name.
fn last_word(name: &str) -> &str {
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, letter) in name.char_indices() {
        match letter {
            '<' | '{' | '(' => depth += 1,
            '>' | '}' | ')' => depth -= 1,
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// Returns what names a lambda expression in the name of a type that holds one.
pub(crate) fn lambda(name: &str) -> String {
    let Some(at) = name.rfind("{lambda") else {
        let is_task = name.contains("_Async_state") || name.contains("__future_base");
        return if is_task { "async" } else { "thread" }.to_owned();
    };
    // It begins behind the bracket or comma before it that is not one of its own.
    let mut depth = 0_i32;
    let mut start = 0;
    for (before, letter) in name[..at].char_indices().rev() {
        match letter {
            ')' | '>' => depth += 1,
            '(' if depth > 0 => depth -= 1,
            '<' if depth > 0 => depth -= 1,
            '<' | ',' | ' ' if depth == 0 => {
                start = before + 1;
                break;
            }
            _ => {}
        }
    }
    let end = name[at..].find('}').map_or(name.len(), |end| at + end + 1);
    let text = &name[start..end];
    // `main::{lambda()#1}` says as much as `main::{lambda()#1}` with the arguments of `main`.
    match text.find("{lambda") {
        Some(lambda) if text[..lambda].contains('(') => {
            let function = without_arguments(text[..lambda].trim_end_matches("::"));
            format!("{function}::{}", &text[lambda..])
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_standard_library_are_recognised() {
        for name in [
            "_ZNSt5mutex4lockEv",
            "_ZNKSt6vectorIiSaIiEE4sizeEv",
            "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
            "_ZL20__gthread_mutex_lockP15pthread_mutex_t",
            "_ZN9__gnu_cxx13new_allocatorIiE8allocateEmPKv",
            "_ZNSaIcEC1Ev",
            "_ZZNSt9once_flag18_Prepare_executionC4IZSt9call_onceIRFvvEJEEvRS_OT_DpOT0_EUlvE_EERS6_ENKUlvE_clEv",
            "__wrap_pthread_mutex_lock",
        ] {
            assert_eq!(Owner::of(name), Owner::Library, "{name}");
        }
        for name in
            ["main", "_Z6workerv", "_ZN5Queue4pushEi", "_ZZ4mainENKUlvE_clEv", "_ZN7StorageC1Ev"]
        {
            assert_eq!(Owner::of(name), Owner::Program, "{name}");
        }
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(without_arguments("worker(int, char)"), "worker");
        assert_eq!(without_arguments("Queue<int>::push(int)"), "Queue<int>::push");
        assert_eq!(without_arguments("void run<int (*)()>(int (*)())"), "run<int (*)()>");
        assert_eq!(without_arguments("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
        assert_eq!(without_arguments("main"), "main");
        assert_eq!(short("std::map<int, int>"), "std::map<int, int>");
        assert_eq!(
            short("std::map<std::vector<int>, std::vector<int> >::find"),
            "std::map<…>::find"
        );
        let vtable = "vtable for std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#2}> > >";
        assert_eq!(lambda(vtable), "main::{lambda()#2}");
        let vtable = "vtable for std::thread::_State_impl<std::thread::_Invoker<std::tuple<Pool::Pool(int)::{lambda(int)#1}, int> > >";
        assert_eq!(lambda(vtable), "Pool::Pool::{lambda(int)#1}");
    }
}
