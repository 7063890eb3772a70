//! `cargo xtask doctor`: what was found on this machine, and what to do about what was not.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::libtorch::{self, Origin};
use crate::{cargo, models, places};

pub fn report() -> Result<()> {
    compiler();
    pip();
    libtorch_state()?;
    model_state()?;
    fonts();
    display();
    Ok(())
}

fn line(subject: &str, text: impl std::fmt::Display) {
    println!("{subject:<10} {text}");
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

fn compiler() {
    match cargo::check_compiler() {
        Ok(()) => line("compiler", first_line("c++", &["--version"]).unwrap_or_else(|| "found".into())),
        Err(error) => line("compiler", error),
    }
    line("rust", first_line("rustc", &["--version"]).unwrap_or_else(|| "rustc was not found".into()));
}

fn pip() {
    let pip = first_line("python3", &["-m", "pip", "--version"]);
    line("pip", pip.unwrap_or_else(|| "not found; `sudo apt install python3-pip` brings it".into()));
}

fn libtorch_state() -> Result<()> {
    let (folder, origin) = libtorch::location()?;
    let chosen = match origin {
        Origin::User => "set by LIBTORCH",
        Origin::Fetched => "fetched by xtask",
    };
    if !folder.join("lib").is_dir() {
        line("libtorch", format!("missing from {}; `cargo xtask setup` fetches it", folder.display()));
        return Ok(());
    }
    let version = libtorch::version(&folder).unwrap_or_else(|| "of unknown version".into());
    line("libtorch", format!("{version} in {} ({chosen})", folder.display()));
    line("devices", devices(&folder.join("lib")));
    Ok(())
}

fn devices(lib: &Path) -> String {
    let built = ["libtorch_cuda.so", "torch_cuda.dll"].iter().any(|name| lib.join(name).exists());
    let card = first_line("nvidia-smi", &["--query-gpu=name", "--format=csv,noheader"]);
    match (built, card) {
        (true, Some(card)) => format!("CPU, CUDA ({card})"),
        (true, None) => "CPU (this libtorch knows CUDA, but no NVIDIA driver answers)".into(),
        (false, Some(card)) => {
            format!("CPU ({card} is here, but this libtorch has no CUDA; set LIBTORCH to one that has)")
        }
        (false, None) => "CPU".into(),
    }
}

fn model_state() -> Result<()> {
    let catalogue = models::catalogue()?;
    let folder = places::models()?;
    line("models", folder.display());
    for entry in &catalogue.models {
        let place = folder.join(&entry.name);
        let state = if !place.is_dir() {
            format!("missing; `cargo xtask model {}` fetches it", entry.name)
        } else {
            match models::verify(entry, &place) {
                Ok(()) => "whole, SHA-256 verified".to_owned(),
                Err(error) => format!("damaged ({error}); delete {} and run `cargo xtask setup`", place.display()),
            }
        };
        line("", format!("{}: {state}", entry.name));
    }
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let listed = catalogue.models.iter().any(|entry| entry.name == name);
        if !listed && entry.path().join("config.json").is_file() {
            line("", format!("{name}: yours"));
        }
    }
    Ok(())
}

fn fonts() {
    let mut fonts = fontdb::Database::new();
    fonts.load_system_fonts();
    let covers = |face: &&fontdb::FaceInfo, sample: char| {
        fonts.with_face_data(face.id, |data, index| {
            ttf_parser::Face::parse(data, index).is_ok_and(|face| face.glyph_index(sample).is_some())
        }) == Some(true)
    };
    let name = |face: &fontdb::FaceInfo| face.families.first().map(|(name, _)| name.clone()).unwrap_or_default();
    let covering = |sample: char| {
        let names: Vec<String> = fonts.faces().filter(|face| covers(face, sample)).map(name).collect();
        names.iter().find(|name| name.contains("Sans")).or(names.first()).cloned()
    };
    line("fonts", format!("{} faces", fonts.len()));
    for (script, sample, package) in
        [("Latin", 'a', "fonts-dejavu-core"), ("Chinese", '中', "fonts-noto-cjk"), ("Arabic", 'ع', "fonts-noto-core")]
    {
        let text = covering(sample).unwrap_or_else(|| format!("none; `sudo apt install {package}` brings one"));
        line("", format!("{script}: {text}"));
    }
}

fn display() {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let server = match (set("WAYLAND_DISPLAY"), set("DISPLAY")) {
        (Some(name), _) => format!("Wayland ({name})"),
        (None, Some(name)) => format!("X11 ({name})"),
        (None, None) if cfg!(target_os = "linux") => {
            "none (neither DISPLAY nor WAYLAND_DISPLAY is set); the sub-commands run, heatmap and models, work without"
                .into()
        }
        _ => "the desktop's own".into(),
    };
    line("display", server);
    if cfg!(target_os = "linux") {
        let known = Command::new("ldconfig").arg("-p").output().map(|out| out.stdout).unwrap_or_default();
        let known = String::from_utf8_lossy(&known);
        for (library, package) in
            [("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"), ("libGL.so.1", "libgl1"), ("libEGL.so.1", "libegl1")]
        {
            if !known.contains(library) {
                line("", format!("{library} is missing; `sudo apt install {package}` brings it"));
            }
        }
    }
}
