//! Where commands write and read: links, pipes, descriptors, files that are not to be touched. Everything happens in
//! folders of the test's own.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/program.rs"]
mod program;
mod support;

use std::fs::Permissions;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use headlight::run::{RunError, Texts, ViewSpec, write_bytes};
use headlight::session::{ModelName, Session};
use program::{headlight, refusal, success, tiny};

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o7777
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What comes out of a pipe's end.
fn reader(path: &Path) -> std::thread::JoinHandle<Vec<u8>> {
    let path = path.to_owned();
    std::thread::spawn(move || std::fs::read(path).unwrap())
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_owner_and_nothing_is_left_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    write_bytes(&file, "new").unwrap();
    assert_eq!(mode(&file) & 0o111, 0, "as any new file");
    for kept in [0o600, 0o640, 0o664, 0o755, 0o200] {
        std::fs::set_permissions(&file, Permissions::from_mode(kept)).unwrap();
        let before = std::fs::metadata(&file).unwrap().ino();
        write_bytes(&file, format!("{kept}")).unwrap();
        let after = std::fs::metadata(&file).unwrap();
        assert_eq!(after.mode() & 0o7777, kept);
        assert_ne!(after.ino(), before, "it was written in place, where a reader could meet half of it");
    }
    // Only the administrator can give a file away.
    if std::os::unix::fs::chown(&file, Some(12345), Some(12346)).is_ok() {
        write_bytes(&file, "theirs").unwrap();
        let after = std::fs::metadata(&file).unwrap();
        assert_eq!((after.uid(), after.gid()), (12345, 12346));
        assert_eq!(std::fs::read(&file).unwrap(), b"theirs");
    }
    assert_eq!(names(folder.path()), ["x"]);
}

#[test]
fn links_are_followed_to_their_end_and_stay_links() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("deep")).unwrap();
    std::fs::write(at("deep/end"), "old").unwrap();
    symlink("deep/end", at("one")).unwrap();
    symlink(at("one"), at("two")).unwrap();
    symlink("../two", at("deep/back")).unwrap();
    symlink("deep/later", at("to-nothing")).unwrap();
    symlink("deep", at("to-folder")).unwrap();
    for link in ["one", "two", "deep/back"] {
        write_bytes(&at(link), link).unwrap();
        assert!(at(link).symlink_metadata().unwrap().is_symlink(), "{link}");
        assert_eq!(std::fs::read_to_string(at("deep/end")).unwrap(), link);
    }
    write_bytes(&at("to-nothing"), "made").unwrap();
    assert!(at("to-nothing").symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(at("deep/later")).unwrap(), "made");
    // A second name of the file is another way to it.
    std::fs::hard_link(at("deep/end"), at("same")).unwrap();
    write_bytes(&at("same"), "both").unwrap();
    assert_eq!(std::fs::read_to_string(at("deep/end")).unwrap(), "both");

    symlink("circle", at("circle")).unwrap();
    for refused in ["to-folder", "circle", "deep", "no/such", "new/", ""] {
        let error = write_bytes(&if refused.is_empty() { PathBuf::new() } else { at(refused) }, "x").unwrap_err();
        assert!(error.to_string().starts_with("cannot write"), "{error}");
    }
    assert!(write_bytes(&at("to-folder"), "x").unwrap_err().to_string().contains("it is a folder"));
}

#[test]
fn a_read_only_file_is_refused_whoever_asks_and_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("locked"), folder.path().join("link"));
    std::fs::write(&file, "kept").unwrap();
    symlink(&file, &link).unwrap();
    for kept in [0o444, 0o400, 0o555, 0o000] {
        std::fs::set_permissions(&file, Permissions::from_mode(kept)).unwrap();
        for path in [&file, &link] {
            let error = write_bytes(path, "other").unwrap_err().to_string();
            assert!(error.contains("read-only") && error.contains(&path.display().to_string()), "{error}");
        }
        assert_eq!(mode(&file), kept);
    }
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"kept");
    assert_eq!(names(folder.path()), ["link", "locked"]);
}

#[test]
fn pipes_take_the_bytes_and_stay_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
    fifo(&pipe);
    symlink(&pipe, &link).unwrap();
    for path in [&pipe, &link] {
        let read = reader(&pipe);
        write_bytes(path, "through").unwrap();
        assert_eq!(read.join().unwrap(), b"through");
        assert!(std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    }
    // A reader that goes away before all was said.
    let closing = pipe.clone();
    let gone = std::thread::spawn(move || drop(std::fs::File::open(closing).unwrap()));
    let error = write_bytes(&pipe, vec![0; 1 << 22]).unwrap_err();
    assert!(matches!(error, RunError::ReaderGone(_)), "{error}");
    gone.join().unwrap();
    assert_eq!(names(folder.path()), ["link", "pipe"]);
}

#[test]
fn a_folder_is_pruned_into_the_end_of_a_link_and_never_over_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let prune =
        |out: &Path| headlight(&["prune", "--model", &tiny(), "--heads", "0.1", "--out", out.to_str().unwrap()]);
    symlink("real", at("link")).unwrap();
    std::fs::create_dir(at("real.part")).unwrap();
    std::fs::write(at("real.part/mine"), "kept").unwrap();
    let output = prune(&at("link"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(at("link").symlink_metadata().unwrap().is_symlink() && at("real/config.json").is_file());
    assert_eq!(std::fs::read(at("real.part/mine")).unwrap(), b"kept", "it belongs to somebody");
    fifo(&at("pipe"));
    symlink("circle", at("circle")).unwrap();
    for there in ["pipe", "link", "real", "circle"] {
        let error = refusal(&["prune", "--model", &tiny(), "--heads", "0.1", "--out", at(there).to_str().unwrap()], 1);
        assert!(error.contains("something of that name") || error.contains("circle"), "{error}");
    }
}

#[test]
fn every_command_that_writes_goes_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("texts.txt"), "the cat\nthe mat\n").unwrap();
    let texts = at("texts.txt");
    let calls: [(&str, Vec<&str>); 4] = [
        ("x.safetensors", vec!["run", "--text", "the cat"]),
        ("x.png", vec!["heatmap", "--text", "the cat", "--head", "0.0", "--dpi", "20"]),
        ("x.csv", vec!["rank", "--texts", &texts]),
        ("x.json", vec!["sweep", "--texts", &texts]),
    ];
    for (name, words) in calls {
        let (end, link, tiny) = (at(&format!("end-{name}")), at(name), tiny());
        std::fs::write(&end, "old").unwrap();
        std::fs::set_permissions(&end, Permissions::from_mode(0o640)).unwrap();
        symlink(&end, &link).unwrap();
        let words = [words.as_slice(), &["--model", &tiny, "--out", &link]].concat();
        success(&words);
        assert!(Path::new(&link).symlink_metadata().unwrap().is_symlink(), "{name}");
        assert!(mode(Path::new(&end)) == 0o640 && std::fs::read(&end).unwrap() != b"old", "{name}");
        std::fs::set_permissions(&end, Permissions::from_mode(0o444)).unwrap();
        let error = refusal(&words, 1);
        assert!(error.contains(&format!("{name}: it is read-only")), "{error}");
    }
    let session = Session {
        version: Session::VERSION,
        model: ModelName { name: "tiny".into(), folder: tiny().into() },
        texts: Texts::single("the cat"),
        view: ViewSpec::default(),
        ..Session::default()
    };
    let (end, link) = (folder.path().join("end-session"), folder.path().join("session.json"));
    symlink(&end, &link).unwrap();
    session.write(&link).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    std::fs::set_permissions(&end, Permissions::from_mode(0o444)).unwrap();
    assert!(session.write(&link).unwrap_err().to_string().contains("read-only"));
}
