//! From addresses of instructions to lines of source text.
//!
//! `addr2line`, which comes with the linker, reads the debug information. It is started when the first line is asked
//! for, which is when something is shown, and each address is asked for once.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustc_hash::FxHashMap;
use selvedge_core::Place;

/// Lines of one module.
pub(crate) struct Lines {
    module: PathBuf,
    /// Files as the user named them, by the names that the compiler wrote.
    sources: Vec<(String, String)>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    reader: Option<Option<Reader>>,
    known: FxHashMap<usize, Option<Place>>,
    texts: FxHashMap<String, Option<Vec<String>>>,
}

struct Reader {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Its input is still open, so it would not end by itself before this does.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Lines {
    pub(crate) fn new(module: &Path, sources: &[PathBuf]) -> Self {
        let full = |path: &PathBuf| {
            let full = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            (full.to_string_lossy().into_owned(), path.to_string_lossy().into_owned())
        };
        let sources = sources.iter().map(full).collect();
        Self { module: module.to_owned(), sources, state: RefCell::default() }
    }

    /// Returns the place of the call that returns to an address, which is relative to the module.
    pub(crate) fn place(&self, address: usize) -> Option<Place> {
        let state = &mut *self.state.borrow_mut();
        if let Some(known) = state.known.get(&address) {
            return known.clone();
        }
        let reader = state.reader.get_or_insert_with(|| self.start());
        let place = reader.as_mut().and_then(|reader| reader.ask(address.saturating_sub(1)));
        let place = place.map(|(file, line)| self.spell(file, line, &mut state.texts));
        state.known.insert(address, place.clone());
        place
    }

    fn start(&self) -> Option<Reader> {
        let mut command = Command::new("addr2line");
        command.arg("-i").arg("-a").arg("-e").arg(&self.module);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().ok()?;
        let (input, output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        Some(Reader { child, input, output })
    }

    /// Returns a place in the words of the user, with the text of the line as its extent.
    fn spell(
        &self,
        file: String,
        line: u32,
        texts: &mut FxHashMap<String, Option<Vec<String>>>,
    ) -> Place {
        let given = self.sources.iter().find(|(full, _)| *full == file);
        let name = given.map_or_else(|| short(&file), |(_, given)| given.clone());
        let text = texts.entry(file).or_insert_with_key(|file| {
            let text = std::fs::read_to_string(file).ok()?;
            Some(text.lines().map(str::to_owned).collect())
        });
        let text = text.as_ref().and_then(|lines| lines.get(line.saturating_sub(1) as usize));
        let text = text.map_or("", String::as_str);
        let indent = text.chars().take_while(|letter| letter.is_whitespace()).count();
        let length = text.trim().chars().count().max(1);
        Place { file: name, line, column: indent as u32 + 1, length: length as u32 }
    }
}

impl Reader {
    /// Returns the place of an instruction: if it came there from a header of the system, that of the code that it was
    /// expanded in.
    fn ask(&mut self, address: usize) -> Option<(String, u32)> {
        // How many lines an answer has is not known, but what comes before the next one is.
        writeln!(self.input, "{address:#x}\n0x0").ok()?;
        self.input.flush().ok()?;
        let mut places = Vec::new();
        let is_end = |line: &str| {
            line.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|digit| digit == b'0'))
        };
        loop {
            let line = self.line()?;
            if is_end(&line) {
                break;
            }
            places.push(line);
        }
        self.line()?;
        let mut places = places.iter().skip(1).filter_map(|line| {
            let line = line.split(" (discriminator").next()?;
            let (file, line) = line.rsplit_once(':')?;
            let line = line.parse().ok().filter(|&line| line > 0)?;
            (file != "??").then(|| (file.to_owned(), line))
        });
        let first = places.next()?;
        if !is_of_system(&first.0) {
            return Some(first);
        }
        Some(places.find(|(file, _)| !is_of_system(file)).unwrap_or(first))
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let size = self.output.read_line(&mut line).ok()?;
        (size > 0).then(|| line.trim().to_owned())
    }
}

fn is_of_system(file: &str) -> bool {
    file.starts_with("/usr/") || file.contains("/include/c++/") || file.contains("/include/bits/")
}

/// Returns a path relative to the current folder, if it lies there.
fn short(file: &str) -> String {
    let here = std::env::current_dir().ok();
    let within = here.and_then(|here| Path::new(file).strip_prefix(here).ok().map(Path::to_owned));
    within.map_or_else(|| file.to_owned(), |path| path.to_string_lossy().into_owned())
}
