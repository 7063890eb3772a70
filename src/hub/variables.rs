//! The hub's variables, as its own programs read them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::HubError;

fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn text(name: &str) -> Option<String> {
    set(name)
        .and_then(|value| value.into_string().ok())
        .map(|value| value.trim().to_owned())
        .filter(|it| !it.is_empty())
}

/// 1, on, yes or true, in letters of any size.
fn is_on(name: &str) -> bool {
    text(name).is_some_and(|value| ["1", "on", "yes", "true"].contains(&value.to_lowercase().as_str()))
}

/// A folder or file that a variable names; `~` at its start is the user's home.
fn path(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(set(name)?);
    match path.strip_prefix("~") {
        Ok(rest) => Some(home()?.join(rest)),
        Err(_) => Some(path),
    }
}

fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

/// `HF_HOME`, else `huggingface` in `XDG_CACHE_HOME`, else in the user's `~/.cache`.
fn hub_home() -> Option<PathBuf> {
    let caches = || path("XDG_CACHE_HOME").or_else(|| Some(home()?.join(".cache")));
    path("HF_HOME").or_else(|| Some(caches()?.join("huggingface")))
}

/// The cache that all the hub's programs share: `HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE`, else `hub` in its home. `None`
/// if there is no home either.
pub fn cache_folder() -> Option<PathBuf> {
    path("HF_HUB_CACHE").or_else(|| path("HUGGINGFACE_HUB_CACHE")).or_else(|| Some(hub_home()?.join("hub")))
}

/// The variable that forbids the network, if one does: the hub's own counts where it has any value.
pub(super) fn offline() -> Option<&'static str> {
    let name = if set("HF_HUB_OFFLINE").is_some() { "HF_HUB_OFFLINE" } else { "TRANSFORMERS_OFFLINE" };
    is_on(name).then_some(name)
}

/// Another server than the hub.
pub(super) fn endpoint() -> Result<Option<String>, HubError> {
    let Some(endpoint) = text("HF_ENDPOINT") else { return Ok(None) };
    if !endpoint.starts_with("https://") && !endpoint.starts_with("http://") {
        return Err(HubError::BadVariable {
            name: "HF_ENDPOINT",
            cause: format!("“{endpoint}” is no address: it begins with https:// or http://"),
        });
    }
    Ok(Some(endpoint.trim_end_matches('/').to_owned()))
}

/// `HF_TOKEN`, `HUGGING_FACE_HUB_TOKEN`, else what the file of the token holds; none where
/// `HF_HUB_DISABLE_IMPLICIT_TOKEN` is on.
pub(super) fn token() -> Option<String> {
    if is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
        return None;
    }
    let kept = || {
        let file = path("HF_TOKEN_PATH").or_else(|| Some(hub_home()?.join("token")))?;
        read_token(&file)
    };
    text("HF_TOKEN").or_else(|| text("HUGGING_FACE_HUB_TOKEN")).or_else(kept)
}

fn read_token(file: &Path) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    let token = String::from_utf8(crate::run::as_utf8(&bytes).into_owned()).ok()?;
    Some(token.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Refuses a proxy that cannot be used: it would be passed by in silence, and the hub be asked directly.
pub(super) fn check_proxies() -> Result<(), HubError> {
    const NAMES: [&str; 6] = ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
    for name in NAMES {
        let Some(value) = text(name) else { continue };
        let kind = ureq::Proxy::new(&value).map(|proxy| proxy.protocol());
        let plain = !value.contains("://") || value.starts_with("http://") || value.starts_with("https://");
        if kind.is_err() || !plain {
            let cause = "it is no proxy that can be used here: write http://HOST:PORT".to_owned();
            return Err(HubError::BadVariable { name, cause });
        }
    }
    Ok(())
}

/// Whether progress is to be kept quiet about.
pub fn hides_progress() -> bool {
    is_on("HF_HUB_DISABLE_PROGRESS_BARS")
}
