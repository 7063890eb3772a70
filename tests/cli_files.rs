//! Where commands write and read: links, pipes, descriptors, files that are not to be touched. Everything happens in
//! folders of the test's own.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/program.rs"]
mod program;
mod support;

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// A command through a shell, with the model and a text already named.
fn shell(folder: &Path, line: &str) -> std::process::Output {
    let words = format!("--model '{}' --text 'the cat'", tiny());
    let line = line.replace("HEADLIGHT", env!("CARGO_BIN_EXE_headlight")).replace("WORDS", &words);
    Command::new("sh").args(["-c", &line]).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn descriptors_are_written_where_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/proc/self/fd/1", folder.path().join("out")).unwrap();
    symlink("/dev/fd", folder.path().join("descriptors")).unwrap();
    for place in ["out", "/dev/fd/1", "/proc/self/fd/1", "descriptors/1"] {
        let line = format!("(echo before; HEADLIGHT run WORDS --out {place}; echo after) > whole");
        let output = shell(folder.path(), &line);
        assert!(output.status.success(), "{place}: {}", String::from_utf8_lossy(&output.stderr));
        let whole = std::fs::read(folder.path().join("whole")).unwrap();
        let inner = whole.strip_prefix(b"before\n").unwrap().strip_suffix(b"after\n").unwrap();
        safetensors::SafeTensors::deserialize(inner).unwrap_or_else(|error| panic!("{place}: {error}"));
        // And through a pipe.
        let piped = shell(folder.path(), &format!("HEADLIGHT run WORDS --out {place} | cat"));
        assert_eq!(piped.stdout.len(), inner.len(), "{place}"); // the metadata's order is free
        safetensors::SafeTensors::deserialize(&piped.stdout).unwrap_or_else(|error| panic!("{place}: {error}"));
    }
    assert!(folder.path().join("out").symlink_metadata().unwrap().is_symlink());
    let third = shell(folder.path(), "HEADLIGHT run WORDS --out /dev/fd/3 3> third");
    assert!(third.status.success() && folder.path().join("third").metadata().unwrap().len() > 1000);
    assert!(String::from_utf8(third.stdout).unwrap().contains("3 layers"), "what it did is told as ever");
    let none = shell(folder.path(), "HEADLIGHT run WORDS --out /dev/fd/93");
    let error = String::from_utf8(none.stderr).unwrap();
    assert!(none.status.code() == Some(1) && error.contains("/dev/fd/93: no such descriptor"), "{error}");
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

/// The program with something on its standard input; what came out, what was said, and the code.
fn fed(folder: &Path, words: &[&str], input: &[u8]) -> (Vec<u8>, String, Option<i32>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_headlight"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).ok();
    let output = child.wait_with_output().unwrap();
    (output.stdout, String::from_utf8(output.stderr).unwrap(), output.status.code())
}

#[test]
fn a_hyphen_is_standard_output_and_nothing_else_is_said_there() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = tiny();
    let call = |words: &[&str], input: &[u8]| {
        let (out, err, code) = fed(folder.path(), &[words, &["--model", &tiny, "--out", "-"]].concat(), input);
        assert_eq!(code, Some(0), "{words:?}: {err}");
        assert!(err.starts_with("headlight: ") && err.lines().count() == 1, "{words:?}: {err}");
        out
    };
    let picture = ["heatmap", "--text", "the cat", "--head", "0.0", "--dpi", "20", "--format"];
    let texts = b"the cat\nthe mat\n";
    safetensors::SafeTensors::deserialize(&call(&["run", "--text", "the cat"], b"")).unwrap();
    assert!(call(&[&picture[..], &["png"]].concat(), b"").starts_with(b"\x89PNG"));
    assert!(call(&[&picture[..], &["svg"]].concat(), b"").starts_with(b"<svg"));
    let table = call(&["rank", "--texts", "-", "--format", "json"], texts);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&table).unwrap()["texts"], 2);
    assert!(call(&["rank", "--texts", "-", "--by", "loo", "--format", "csv"], texts).starts_with(b"head,"));
    for (format, start) in [("png", &b"\x89PNG"[..]), ("svg", b"<svg"), ("json", b"{"), ("csv", b"heads_off,")] {
        assert!(call(&["sweep", "--texts", "-", "--format", format], texts).starts_with(start), "{format}");
    }
    let session = Session {
        version: Session::VERSION,
        model: ModelName { name: "tiny".into(), folder: tiny.clone().into() },
        texts: Texts::single("the cat"),
        ..Session::default()
    };
    session.write(&folder.path().join("session")).unwrap();
    let saved = std::fs::read(folder.path().join("session")).unwrap();
    std::fs::remove_file(folder.path().join("session")).unwrap();
    safetensors::SafeTensors::deserialize(&call(&["run", "--session", "-"], &saved)).unwrap();
    assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));

    for (words, wanted) in [
        (vec!["heatmap", "--text", "a", "--head", "0.0", "--out", "-"], "--format png or svg"),
        (vec!["rank", "--texts", "-", "--out", "-"], "--format json or csv"),
        (vec!["rank", "--texts", "-", "--out", "x.csv", "--format", "json"], "leave one of them out"),
        (vec!["sweep", "--texts", "-", "--out", "x.tmp"], ".png, .svg, .json or .csv"),
        (vec!["sweep", "--texts", "-", "--format", "csv", "--out", "-", "--out", "-"], "takes one file"),
        (vec!["prune", "--heads", "0.1", "--out", "-"], "./-"),
        (vec!["heatmap", "--text", "a", "--all", "--out-dir", "-"], "./-"),
        (vec!["rank", "--texts", "-", "--out", "x.csv"], "cannot read standard input: it holds no text"),
    ] {
        let (out, err, code) = fed(folder.path(), &[words.as_slice(), &["--model", &tiny]].concat(), b" \n");
        assert!(code == Some(1) && out.is_empty() && err.contains(wanted), "{words:?}: {err}");
    }
}

#[test]
fn a_pipe_that_is_closed_ends_the_program_quietly() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "HEADLIGHT run WORDS --out -",
        "HEADLIGHT run WORDS --out /dev/fd/1",
        "HEADLIGHT heatmap WORDS --head 0.0 --format svg --out -",
        "HEADLIGHT run WORDS --out x.safetensors",
        "HEADLIGHT models --model MODEL",
        "HEADLIGHT --help",
    ] {
        // The reader goes before anything is written: whoever writes waits for it to be gone.
        let line = line.replace("MODEL", &tiny());
        let whole = format!("(exec 2>said; sleep 0.2; {line}; echo $? > code) | true");
        shell(folder.path(), &whole);
        let said = std::fs::read_to_string(folder.path().join("said")).unwrap();
        let code = std::fs::read_to_string(folder.path().join("code")).unwrap();
        assert_eq!((code.trim(), said.as_str()), ("141", ""), "{line}");
    }
    if Path::new("/dev/full").exists() {
        let full = shell(folder.path(), "HEADLIGHT run WORDS --out - > /dev/full");
        let error = String::from_utf8(full.stderr).unwrap();
        assert!(full.status.code() == Some(1) && error.contains("cannot write standard output"), "{error}");
    }
}

#[test]
fn texts_and_sessions_are_read_as_windows_writes_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let rank = |bytes: &[u8]| {
        std::fs::write(at("texts"), bytes).unwrap();
        success(&["rank", "--model", &tiny(), "--texts", &at("texts"), "--out", &at("x.csv")]);
        std::fs::read_to_string(at("x.csv")).unwrap()
    };
    let wide = |text: &str, big: bool| -> Vec<u8> {
        let bytes = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect()
    };
    let text = "the cat\r\nthe mat 猫\r\n";
    let wanted = rank(text.as_bytes());
    for bytes in [wide(text, false), wide(text, true), format!("\u{feff}{text}").into_bytes()] {
        assert_eq!(rank(&bytes), wanted);
    }
    let json =
        format!(r#"{{"version": 1, "model": {{"name": "t", "folder": {:?}}}, "texts": {{"a": "the 猫"}}}}"#, tiny());
    std::fs::write(at("session"), wide(&json, false)).unwrap();
    let (said, _) = success(&["run", "--session", &at("session"), "--out", &at("x.safetensors")]);
    assert!(said.contains("4 tokens"), "{said}");
    // A config that Notepad has saved.
    std::fs::create_dir(at("model")).unwrap();
    for entry in std::fs::read_dir(tiny()).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.path().join("model").join(entry.file_name())).unwrap();
    }
    let config = std::fs::read_to_string(at("model/config.json")).unwrap();
    std::fs::write(at("model/config.json"), wide(&config, false)).unwrap();
    success(&["run", "--model", &at("model"), "--text", "the cat", "--out", &at("x.safetensors")]);
}
