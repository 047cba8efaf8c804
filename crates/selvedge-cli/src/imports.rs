//! Reads the files that a program imports.

use std::io::Read;
use std::path::Path;

use selvedge_lang::bundle::bundle;

/// A larger file is no program: a device, an archive.
pub(crate) const MOST_BYTES: u64 = 16 << 20;

/// Returns the text of a program with all files that it imports; paths are relative to the folder of `file`. One that cannot be
/// read is an error of the program, at its import.
pub(crate) fn with_imports(file: &Path, text: String) -> String {
    if !text.contains("import") {
        return text;
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    let name = file.to_string_lossy().replace('\\', "/");
    bundle(&name, &text, &mut |path| read(&folder.join(path)))
}

fn read(path: &Path) -> Result<String, String> {
    if path.is_dir() {
        return Err("it is a directory".to_owned());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    file.and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)).map_err(|error| {
        match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        }
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("it is larger than 16 MiB".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
