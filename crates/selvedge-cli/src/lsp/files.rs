//! The files of a program, and their addresses.

use std::path::{Component, Path, PathBuf};

/// Returns the file of an address, if it is one: bytes may be written as `%20`.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let written = uri.strip_prefix("file://")?.as_bytes();
    let mut bytes = Vec::new();
    let mut at = 0;
    while let Some(&byte) = written.get(at) {
        let digits = written.get(at + 1..at + 3).and_then(|it| std::str::from_utf8(it).ok());
        let coded = digits.filter(|_| byte == b'%').map(|it| u8::from_str_radix(it, 16));
        match coded {
            Some(Ok(coded)) => {
                bytes.push(coded);
                at += 3;
            }
            _ => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Returns the address of a file that another one imports, by its path relative to the folder of that.
pub(super) fn uri_of(importer: &Path, path: &str) -> String {
    let mut whole = PathBuf::new();
    for component in importer.parent().unwrap_or(Path::new("")).join(path).components() {
        match component {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    let mut uri = "file://".to_owned();
    for byte in whole.to_string_lossy().bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_imported_files() {
        let importer = path_of("file:///a/with%20blank/main.sel").expect("it is a file");
        let uri = uri_of(&importer, "../lib/b.sel");
        assert_eq!(uri, "file:///a/lib/b.sel");
        assert_eq!(uri_of(&importer, "é.sel"), "file:///a/with%20blank/%C3%A9.sel");
        assert_eq!(path_of(&uri_of(&importer, "é.sel")), Some(importer.with_file_name("é.sel")));
    }
}
