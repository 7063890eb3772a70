//! Fetching from the hub, against a small server on this machine that can misbehave.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/program.rs"]
mod program;
mod support;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use headlight::hub::{Fetch, HubError};
use headlight::model::Model;
use sha2::{Digest, Sha256};

/// What the server does wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Status(u16),
    /// The first download of the weights breaks off in its middle.
    BreaksOnce,
    /// Every download of the weights ends early.
    Truncates,
    /// The weights are longer than was said.
    TooLong,
    /// A server that sends everything again when it is asked to go on.
    IgnoresRange,
    OtherBytes,
    /// A hash that would be a path.
    EvilHash,
}

struct Server {
    endpoint: String,
    /// The requests for weights, with what was asked of them.
    ranges: Arc<Mutex<Vec<String>>>,
    tokens: Arc<Mutex<Vec<String>>>,
}

fn serve(fault: Fault) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let mut files = HashMap::new();
    for entry in std::fs::read_dir(support::task_model("sequence")).unwrap().flatten() {
        files.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    }
    let (ranges, tokens) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let (seen, told) = (ranges.clone(), tokens.clone());
    std::thread::spawn(move || {
        let broken = AtomicUsize::new(0);
        for stream in listener.incoming().flatten() {
            answer(stream, fault, &files, &broken, &seen, &told);
        }
    });
    Server { endpoint, ranges, tokens }
}

fn answer(
    mut stream: TcpStream,
    fault: Fault,
    files: &HashMap<String, Vec<u8>>,
    broken: &AtomicUsize,
    seen: &Mutex<Vec<String>>,
    told: &Mutex<Vec<String>>,
) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut range = None;
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap_or_default();
        match name.to_lowercase().as_str() {
            "range" => range = value.strip_prefix("bytes=").map(str::to_owned),
            "authorization" => told.lock().unwrap().push(value.to_owned()),
            _ => {}
        }
    }
    let mut send = |status: &str, headers: &str, body: &[u8], length: usize| {
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).ok();
        stream.write_all(body).ok();
    };
    if let Fault::Status(status) = fault {
        return send(&format!("{status} no"), "", b"", 0);
    }
    if path.starts_with("/api/models/") {
        let siblings: Vec<String> = files.keys().map(|name| format!(r#"{{"rfilename": "{name}"}}"#)).collect();
        let json = format!(r#"{{"siblings": [{}, {{"rfilename": "tf_model.h5"}}], "sha": "abc"}}"#, siblings.join(","));
        return send("200 OK", "content-type: application/json\r\n", json.as_bytes(), json.len());
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let Some(bytes) = files.get(name) else { return send("404 no", "", b"", 0) };
    let weights = name == "model.safetensors";
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let hash = if fault == Fault::EvilHash { "../../../evil".to_owned() } else { hash };
    let range = range.unwrap_or_default();
    let (start, end) = range.split_once('-').unwrap_or(("0", ""));
    let start: usize = start.parse().unwrap_or(0);
    let end = end.parse().map_or(bytes.len(), |end: usize| end + 1);
    let asked_size = range == "0-0";
    if weights && !asked_size {
        seen.lock().unwrap().push(range.clone());
    }
    let whole = match fault {
        Fault::OtherBytes if weights => bytes.iter().map(|byte| byte ^ 1).collect(),
        Fault::TooLong if weights && !asked_size => [bytes.as_slice(), b"more"].concat(),
        _ => bytes.clone(),
    };
    let end = if fault == Fault::TooLong && weights && !asked_size { whole.len() } else { end };
    let start = if fault == Fault::IgnoresRange && weights && !asked_size { 0 } else { start };
    let body = &whole[start.min(whole.len())..end];
    let headers = format!(
        "etag: \"{hash}\"\r\nx-repo-commit: abc123\r\ncontent-range: bytes {start}-{}/{}\r\n",
        end - 1,
        bytes.len()
    );
    let breaks = match fault {
        Fault::BreaksOnce | Fault::IgnoresRange => {
            weights && !asked_size && broken.fetch_add(1, Ordering::Relaxed) == 0
        }
        Fault::Truncates => weights && !asked_size,
        _ => false,
    };
    let sent = if breaks { &body[..body.len() / 2] } else { body };
    send("206 Partial Content", &headers, sent, body.len());
}

fn fetch(server: &Server, cache: &Path) -> Fetch {
    Fetch {
        model: "someone/tiny".into(),
        endpoint: Some(server.endpoint.clone()),
        cache: Some(cache.to_owned()),
        ..Fetch::default()
    }
}

fn failure(fault: Fault) -> (HubError, tempfile::TempDir) {
    let cache = tempfile::tempdir().unwrap();
    let error = fetch(&serve(fault), cache.path()).run(&mut |_| true).expect_err("a failure");
    assert!(!error.to_string().contains('\n'), "{error}");
    (error, cache)
}

/// Whether anything in the cache could be taken for a model.
fn holds_a_model(cache: &Path) -> bool {
    let mut folders = vec![cache.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() == "config.json" {
                return true;
            }
            folders.extend(entry.path().is_dir().then(|| entry.path()));
        }
    }
    false
}

#[test]
fn a_model_is_fetched_with_progress_and_opens() {
    let cache = tempfile::tempdir().unwrap();
    let server = serve(Fault::None);
    let mut seen = Vec::new();
    let folder = fetch(&server, cache.path()).run(&mut |progress| {
        seen.push(progress.clone());
        true
    });
    let folder = folder.unwrap();
    assert!(Model::open(&folder).is_ok_and(|model| model.info().name == "someone/tiny"));
    assert!(seen.iter().any(|progress| progress.file == "model.safetensors" && progress.bytes == progress.of));
    assert_eq!(seen.last().unwrap().file, "config.json", "a model is there once its config is");
    assert!(!folder.join("tf_model.h5").exists() && !folder.join("reference.safetensors").exists());
    // What is there is not fetched again.
    let before = server.ranges.lock().unwrap().len();
    assert_eq!(fetch(&server, cache.path()).run(&mut |_| true).unwrap(), folder);
    assert_eq!(server.ranges.lock().unwrap().len(), before);
}

#[test]
fn a_connection_that_breaks_is_taken_up_where_it_stopped() {
    let cache = tempfile::tempdir().unwrap();
    let server = serve(Fault::BreaksOnce);
    let folder = fetch(&server, cache.path()).run(&mut |_| true).unwrap();
    assert!(Model::open(&folder).is_ok());
    let ranges = server.ranges.lock().unwrap().clone();
    assert!(ranges.len() == 2 && ranges[0] == "0-" && ranges[1] != "0-", "{ranges:?}");
}

#[test]
fn a_server_that_sends_everything_again_does_not_spoil_the_file() {
    let cache = tempfile::tempdir().unwrap();
    let server = serve(Fault::IgnoresRange);
    let folder = fetch(&server, cache.path()).run(&mut |_| true).unwrap();
    assert!(Model::open(&folder).is_ok());
    assert_eq!(
        std::fs::read(folder.join("model.safetensors")).unwrap(),
        std::fs::read(support::task_model("sequence").join("model.safetensors")).unwrap()
    );
}

#[test]
fn what_can_be_given_up_goes_on_later() {
    let cache = tempfile::tempdir().unwrap();
    let server = serve(Fault::None);
    let given_up = fetch(&server, cache.path()).run(&mut |progress| progress.bytes == 0);
    assert!(matches!(given_up, Err(HubError::Cancelled)), "{given_up:?}");
    assert!(!holds_a_model(cache.path()));
    assert!(Model::open(&fetch(&server, cache.path()).run(&mut |_| true).unwrap()).is_ok());
}

#[test]
fn each_fault_gives_its_sentence_and_leaves_no_half_model() {
    for (fault, wanted) in [
        (Fault::Status(404), "the hub has no model someone/tiny"),
        (Fault::Status(401), "set HF_TOKEN"),
        (Fault::Status(500), "cannot be reached"),
        (Fault::Truncates, "goes on where it stopped"),
        (Fault::TooLong, "not what the hub promised"),
        (Fault::OtherBytes, "another SHA-256"),
        (Fault::EvilHash, "is no hash"),
    ] {
        let (error, cache) = failure(fault);
        assert!(error.to_string().contains(wanted), "{fault:?}: {error}");
        assert!(!holds_a_model(cache.path()), "{fault:?}");
    }
    let nobody = Fetch { model: "a/b".into(), endpoint: Some("http://127.0.0.1:1".into()), ..Fetch::default() };
    assert!(nobody.run(&mut |_| true).unwrap_err().to_string().contains("cannot be reached"));
    let bad = Fetch { model: "../x".into(), ..Fetch::default() };
    assert!(bad.run(&mut |_| true).unwrap_err().to_string().contains("is no name of a model"));
}

#[test]
fn the_command_takes_its_server_cache_and_token_from_the_environment() {
    let home = tempfile::tempdir().unwrap();
    let server = serve(Fault::None);
    let call = |words: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_headlight"))
            .args(words)
            .env("HF_ENDPOINT", &server.endpoint)
            .env("HF_HOME", home.path())
            .env("HF_TOKEN", "secret")
            .env_remove("HF_HUB_CACHE")
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, out, err) = call(&["models", "get", "someone/tiny"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{err}");
    assert!(out.contains("someone/tiny") && out.contains("snapshots"), "{out}");
    assert!(server.tokens.lock().unwrap().iter().any(|token| token == "Bearer secret"));
    let (_, listed, _) = call(&["models"]);
    assert!(listed.contains("someone/tiny\tbert, 2 layers"), "{listed}");
    let (code, ..) = call(&["models", "--model", "someone/tiny"]);
    assert_eq!(code, Some(0), "it opens by its name, without a network");
    let (code, _, err) = call(&["models", "get", "../x"]);
    assert!(code == Some(1) && err.contains("is no name of a model") && err.lines().count() == 1, "{err}");
}

type Variables<'a> = &'a [(&'a str, &'a str)];

/// `models get someone/tiny` with these variables, and none of the hub's beside them; what was said, and the code.
fn get(home: &Path, variables: Variables<'_>) -> (String, Option<i32>) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_headlight"));
    command.args(["models", "get", "someone/tiny"]);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("HF_") || name.starts_with("HUGGING") || name.to_lowercase().ends_with("_proxy") {
            command.env_remove(name);
        }
    }
    command.env_remove("TRANSFORMERS_OFFLINE").env_remove("XDG_CACHE_HOME").env("HOME", home);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8(said).unwrap(), output.status.code())
}

#[test]
fn the_network_is_left_alone_where_a_variable_forbids_it() {
    let home = tempfile::tempdir().unwrap();
    let server = serve(Fault::None);
    let place = home.path().display().to_string();
    let common = [("HF_ENDPOINT", server.endpoint.as_str()), ("HF_HOME", place.as_str()), ("HF_TOKEN", "t")];
    let with = |more: &[(&str, &str)]| get(home.path(), &[&common[..], more].concat());
    for (name, value) in [
        ("HF_HUB_OFFLINE", "1"),
        ("HF_HUB_OFFLINE", "true"),
        ("HF_HUB_OFFLINE", "YES"),
        ("TRANSFORMERS_OFFLINE", "1"),
        ("TRANSFORMERS_OFFLINE", "On"),
    ] {
        let (said, code) = with(&[(name, value)]);
        assert!(code == Some(1) && said.contains(&format!("{name} forbids the network")), "{said}");
        assert!(said.contains("someone/tiny") && said.lines().count() == 1, "{said}");
    }
    assert!(server.tokens.lock().unwrap().is_empty(), "the server was asked");
    // The hub's own variable goes first, and other words are no.
    let (said, code) = with(&[("HF_HUB_OFFLINE", "0"), ("TRANSFORMERS_OFFLINE", "1")]);
    assert_eq!(code, Some(0), "{said}");
    let asked = server.tokens.lock().unwrap().len();
    let (kept, code) = with(&[("HF_HUB_OFFLINE", "1")]);
    assert_eq!((code, &kept), (Some(0), &said), "what was fetched before is there");
    assert_eq!(server.tokens.lock().unwrap().len(), asked);
}

#[test]
fn the_cache_and_the_token_are_where_the_variables_say() {
    let server = serve(Fault::None);
    let slash = format!("{}/", server.endpoint);
    let at = |home: &Path, name: &str| home.join(name).display().to_string();
    let folders: [(Variables<'_>, &str); 6] = [
        (&[], ".cache/huggingface/hub"),
        (&[("HF_HOME", "~/own")], "own/hub"),
        (&[("XDG_CACHE_HOME", "~/caches")], "caches/huggingface/hub"),
        (&[("HUGGINGFACE_HUB_CACHE", "~/old"), ("HF_HOME", "~/own")], "old"),
        (&[("HF_HUB_CACHE", "~/new"), ("HUGGINGFACE_HUB_CACHE", "~/old")], "new"),
        (&[("HF_HUB_CACHE", ""), ("HF_HOME", "")], ".cache/huggingface/hub"),
    ];
    for (variables, wanted) in folders {
        let home = tempfile::tempdir().unwrap();
        let (said, code) = get(home.path(), &[variables, &[("HF_ENDPOINT", slash.as_str())]].concat());
        assert!(code == Some(0) && said.contains(&at(home.path(), wanted)), "{variables:?}: {said}");
        assert!(home.path().join(wanted).join("models--someone--tiny/snapshots").is_dir());
    }
    assert!(server.tokens.lock().unwrap().is_empty(), "nobody gave a token");

    let tokens: [(Variables<'_>, Option<&str>); 7] = [
        (&[("HF_TOKEN", "one"), ("HUGGING_FACE_HUB_TOKEN", "two")], Some("one")),
        (&[("HF_TOKEN", ""), ("HUGGING_FACE_HUB_TOKEN", " two\n")], Some("two")),
        (&[], Some("kept")),
        (&[("HF_HUB_CACHE", "~/elsewhere")], Some("kept")),
        (&[("HF_TOKEN_PATH", "~/mine")], Some("mine")),
        (&[("HF_TOKEN_PATH", "~/none")], None),
        (&[("HF_TOKEN", "one"), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")], None),
    ];
    for (variables, wanted) in tokens {
        let (home, server) = (tempfile::tempdir().unwrap(), serve(Fault::None));
        std::fs::create_dir_all(home.path().join(".cache/huggingface")).unwrap();
        std::fs::write(home.path().join(".cache/huggingface/token"), "kept\n").unwrap();
        std::fs::write(home.path().join("mine"), "\u{feff}mine\r\n").unwrap();
        let (said, code) = get(home.path(), &[variables, &[("HF_ENDPOINT", server.endpoint.as_str())]].concat());
        assert_eq!(code, Some(0), "{variables:?}: {said}");
        let seen = server.tokens.lock().unwrap().first().cloned();
        assert_eq!(seen, wanted.map(|token| format!("Bearer {token}")), "{variables:?}");
    }
}

#[test]
fn proxies_are_followed_or_refused_and_never_passed_by() {
    let home = tempfile::tempdir().unwrap();
    let (hub, nobody) = (serve(Fault::None), "http://127.0.0.1:1");
    let get = |variables: &[(&str, &str)]| {
        get(home.path(), &[variables, &[("HF_ENDPOINT", hub.endpoint.as_str()), ("HF_TOKEN", "t")]].concat())
    };
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"] {
        let (said, code) = get(&[(name, nobody)]);
        assert!(code == Some(1) && said.contains("cannot be reached"), "{name}: {said}");
        let (said, code) = get(&[(name, "socks9://x:1")]);
        assert!(code == Some(1) && said.contains(&format!("{name} cannot be followed")), "{name}: {said}");
    }
    assert!(hub.tokens.lock().unwrap().is_empty(), "the hub was asked past the proxy");
    let (said, code) = get(&[("HTTPS_PROXY", nobody), ("NO_PROXY", "127.0.0.1")]);
    assert_eq!(code, Some(0), "{said}");
    let (said, code) = self::get(home.path(), &[("HF_ENDPOINT", "hub.example")]);
    assert!(code == Some(1) && said.contains("HF_ENDPOINT cannot be followed"), "{said}");
}
