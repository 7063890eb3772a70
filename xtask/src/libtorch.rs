//! The CPU half of the PyTorch wheel, laid out as `torch-sys` expects a libtorch.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::pip::{self, Wheel};
use crate::{places, unpack};

/// The version that `tch` 0.26 is written for: an exact pair.
pub const VERSION: &str = "2.13.0";

/// What a libtorch folder was chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `LIBTORCH` as the user set it.
    User,
    /// The one this tool fetched.
    Fetched,
}

/// Where libtorch is or will be, and who chose that.
pub fn location() -> Result<(PathBuf, Origin)> {
    let ours = places::cache()?.join(format!("libtorch-{VERSION}-cpu"));
    let Some(set) = std::env::var_os("LIBTORCH").filter(|value| !value.is_empty()).map(PathBuf::from) else {
        return Ok((ours, Origin::Fetched));
    };
    // Cargo hands `.cargo/local.toml` to this process as if the user had set the variable: a value that we wrote
    // ourselves and that has gone since is no wish of the user's.
    let remembered = crate::cargo::remembered_libtorch().is_some_and(|path| path == set);
    if set == ours || (remembered && !set.join("lib").is_dir()) {
        return Ok((ours, Origin::Fetched));
    }
    Ok((set, Origin::User))
}

/// Finds libtorch, fetching it first if it is missing.
pub fn ensure() -> Result<PathBuf> {
    let (folder, origin) = location()?;
    match origin {
        Origin::User => {
            if !folder.join("lib").is_dir() {
                bail!(
                    "LIBTORCH is set to {} but that folder has no lib/; point it at a libtorch {VERSION}, or unset it to have one fetched",
                    folder.display()
                );
            }
            if let Some(found) = version(&folder).filter(|found| found.split('+').next() != Some(VERSION)) {
                bail!(
                    "LIBTORCH is set to {} which is version {found}, but tch needs {VERSION}; unset LIBTORCH to have the right one fetched",
                    folder.display()
                );
            }
        }
        // The version is written last: its presence says that the folder is whole.
        Origin::Fetched if version(&folder).is_some() => {}
        Origin::Fetched => assemble(&folder)?,
    }
    Ok(folder)
}

pub fn version(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join("build-version")).ok().map(|text| text.trim().to_owned())
}

/// What is taken out of one wheel.
struct Part {
    wheel: Wheel,
    place: fn(&str) -> Option<String>,
}

fn recipe() -> Result<Vec<Part>> {
    let torch = |platform: &str, place| Part {
        wheel: Wheel { requirement: format!("torch=={VERSION}"), platforms: vec![platform.to_owned()] },
        place,
    };
    let nvidia = |requirement: &str, place| Part {
        wheel: Wheel {
            requirement: requirement.to_owned(),
            platforms: ["manylinux2014_x86_64", "manylinux_2_25_x86_64", "manylinux_2_28_x86_64"]
                .map(str::to_owned)
                .to_vec(),
        },
        place,
    };
    match (std::env::consts::OS, std::env::consts::ARCH) {
        // The wheel is the CUDA build; its CPU half works alone with the two small libraries that it names.
        ("linux", "x86_64") => Ok(vec![
            torch("manylinux_2_28_x86_64", |name| {
                let name = name.strip_prefix("torch/")?;
                let wanted = name.starts_with("include/")
                    || ["lib/libtorch_cpu.so", "lib/libc10.so", "lib/libgomp.so.1"].contains(&name);
                wanted.then(|| name.to_owned())
            }),
            nvidia("nvidia-cuda-runtime==13.0.*", |name| named(name, "libcudart.so.13")),
            nvidia("nvidia-cuda-cupti==13.0.*", |name| named(name, "libcupti.so.13")),
        ]),
        // These two wheels are CPU builds already.
        ("macos", "aarch64") => Ok(vec![torch("macosx_11_0_arm64", libraries_and_headers)]),
        ("windows", "x86_64") => Ok(vec![torch("win_amd64", libraries_and_headers)]),
        (os, arch) => bail!(
            "no libtorch can be fetched for {os} on {arch}; set LIBTORCH to the folder of a libtorch {VERSION} and run the same command again"
        ),
    }
}

fn named(member: &str, file: &str) -> Option<String> {
    (member.rsplit('/').next() == Some(file)).then(|| format!("lib/{file}"))
}

fn libraries_and_headers(member: &str) -> Option<String> {
    let name = member.strip_prefix("torch/")?;
    (name.starts_with("include/") || name.starts_with("lib/")).then(|| name.to_owned())
}

fn assemble(folder: &Path) -> Result<()> {
    println!("libtorch {VERSION} is missing; fetching it (about 540 MB to download, 490 MB once unpacked)");
    let parts = recipe()?;
    let downloads = places::cache()?.join("downloads");
    let partial = folder.with_added_extension("partial");
    fs::create_dir_all(&partial).map_err(|error| unpack::disk_error(&partial, error))?;
    let mut fetched = Vec::new();
    for part in &parts {
        let wheel = pip::fetch(&part.wheel, &downloads)?;
        if unpack::take(&wheel, &partial, part.place)? == 0 {
            bail!("{} holds none of the files of the recipe; please report this", wheel.display());
        }
        fetched.push(wheel);
    }
    if cfg!(target_os = "linux") {
        stand_in(&partial.join("lib"))?;
    }
    fs::write(partial.join("build-version"), VERSION)?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    fs::rename(&partial, folder)?;
    for folder in fetched.iter().filter_map(|wheel| wheel.parent()) {
        fs::remove_dir_all(folder)?;
    }
    println!("libtorch {VERSION} is in {}", folder.display());
    Ok(())
}

/// `torch-sys` links `-ltorch`; the wheel's own libtorch.so would pull in CUDA, so one that stands for
/// libtorch_cpu.so takes its place.
fn stand_in(lib: &Path) -> Result<()> {
    let status = Command::new("cc")
        .current_dir(lib)
        .args(["-shared", "-o", "libtorch.so", "-x", "c", "/dev/null", "-L.", "-Wl,--no-as-needed"])
        .args(["-l:libtorch_cpu.so", "-l:libc10.so", "-Wl,-rpath,$ORIGIN", "-Wl,--allow-shlib-undefined"])
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("cc could not link the stand-in for libtorch.so ({status}); its message is above"),
        Err(_) => bail!(crate::cargo::NO_COMPILER),
    }
}
