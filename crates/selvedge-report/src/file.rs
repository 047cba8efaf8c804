//! Writes a file completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// A name beside the file that others may have taken already: so often another is tried. Beyond: an
/// error.
const MOST_NAMES: u32 = 100;

/// Writes `text` to a file under another name in its folder, makes sure that it has reached the disk,
/// and renames it. If anything fails, the file is unchanged.
///
/// What is no ordinary file (a pipe, a device) is written directly; a symbolic link stays one.
///
/// # Errors
/// The error of the system; no temporary file is left.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let (target, known) = match fs::canonicalize(path) {
        Ok(target) => {
            let known = fs::metadata(&target)?;
            (target, Some(known))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => (path.to_owned(), None),
        Err(error) => return Err(error),
    };
    if let Some(known) = &known {
        if known.is_dir() {
            return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
        }
        if !known.is_file() {
            let mut file = OpenOptions::new().write(true).open(&target)?;
            return file.write_all(text.as_bytes()).and_then(|()| file.flush());
        }
        if known.permissions().readonly() {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "it is read-only"));
        }
    }
    let (beside, file) = create_beside(&target)?;
    let filled = fill(file, text).and_then(|()| match known {
        Some(known) => fs::set_permissions(&beside, known.permissions()),
        None => Ok(()),
    });
    let done = filled.and_then(|()| fs::rename(&beside, &target));
    if done.is_err() {
        // The first error is reported; this one would add nothing.
        let _ = fs::remove_file(&beside);
    }
    done?;
    sync_folder(&target);
    Ok(())
}

fn fill(mut file: File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Returns a new file in the same folder.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
    for number in 0..MOST_NAMES {
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}-{number}.tmp", std::process::id()));
        let beside = target.with_file_name(beside);
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(ErrorKind::AlreadyExists))
}

/// Syncs the folder, so that the new name is durable. Not every system can do that, and the file exists already.
fn sync_folder(target: &Path) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("selvedge-report-test-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).expect("a folder can be made");
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("the folder can be read");
            let name = |entry: io::Result<fs::DirEntry>| {
                entry.expect("an entry").file_name().to_string_lossy().into_owned()
            };
            let mut names: Vec<String> = entries.map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_written_and_replaced() {
        let folder = Folder::new("replaced");
        let path = folder.0.join("a.json");
        for text in ["first", "second, longer", ""] {
            write_whole(&path, text).expect("it can be written");
            assert_eq!(fs::read_to_string(&path).expect("it can be read"), text);
        }
        assert_eq!(folder.names(), ["a.json"]);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let folder = Folder::new("nothing");
        let inside = folder.0.join("folder");
        fs::create_dir_all(&inside).expect("a folder can be made");
        let error = write_whole(&inside, "x").expect_err("it is a directory");
        assert!(error.to_string().contains("directory"), "{error}");
        write_whole(&folder.0.join("missing/a"), "x").expect_err("there is no such folder");
        assert_eq!(folder.names(), ["folder"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = Folder::new("links");
        let (real, link) = (folder.0.join("real"), folder.0.join("link"));
        fs::write(&real, "old").expect("it can be written");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("it can be set");
        symlink(&real, &link).expect("a link can be made");
        write_whole(&link, "new").expect("it can be written");
        assert_eq!(fs::read_to_string(&real).expect("it can be read"), "new");
        assert!(fs::symlink_metadata(&link).expect("it is there").file_type().is_symlink());
        let mode = fs::metadata(&real).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_told_and_stays() {
        let error = write_whole(Path::new("/dev/full"), "x").expect_err("it is full");
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(!fs::metadata("/dev/full").expect("it is there").is_file());
    }
}
