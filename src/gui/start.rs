//! Opening the window, and saying in one sentence why it cannot be opened.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use egui::{ThemePreference, ViewportBuilder};

use super::app::{HeadlightApp, Opening};
use super::lang::tr;
use super::settings;
use crate::engine::{Options, spawn};
use crate::run::{one_line, panic_text};

/// By this name the system knows the program, and its settings are kept.
const APP: &str = "headlight";

/// Light or dark, whatever the system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the window cannot be opened: {0}; without a window, `headlight run`, `headlight heatmap` and `headlight models` work"
)]
pub struct OpenError(String);

/// Opens the window and stays until it is closed.
///
/// # Errors
/// [`OpenError`] with the cause, and with the commands that need no window.
pub fn open(opening: Opening, theme: Option<Theme>) -> Result<(), OpenError> {
    if let Some(cause) = missing_display() {
        return Err(OpenError(cause));
    }
    let options = eframe::NativeOptions {
        renderer: eframe::Renderer::Glow,
        viewport: ViewportBuilder::default()
            .with_title("Headlight")
            .with_app_id(APP)
            .with_inner_size([1280.0, 760.0])
            .with_min_inner_size([640.0, 400.0]),
        ..Default::default()
    };
    let settings = eframe::storage_dir(APP).map(|folder| folder.join("app.ron"));
    let aside = settings.and_then(|file| settings::put_aside_if_broken(&file));
    // winit panics where a library of the desktop is missing: the panic becomes a sentence like any other failure.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let opened = Arc::new(AtomicBool::new(false));
    let is_open = opened.clone();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        eframe::run_native(
            APP,
            options,
            Box::new(move |cc| {
                // The window is there: later panics are faults of ours.
                is_open.store(true, Ordering::Relaxed);
                std::panic::set_hook(hook);
                if let Some(theme) = theme {
                    cc.egui_ctx.set_theme(match theme {
                        Theme::Light => ThemePreference::Light,
                        Theme::Dark => ThemePreference::Dark,
                    });
                }
                let ctx = cc.egui_ctx.clone();
                let link = spawn(Options::default(), move || ctx.request_repaint());
                let mut app = HeadlightApp::new(link, opening, cc.storage);
                if let Some(aside) = aside {
                    let aside = aside.display();
                    app.tell(tr!(
                        "the settings could not be read and are the usual ones; the old file is %{aside}",
                        aside = aside
                    ));
                }
                Ok(Box::new(app))
            }),
        )
    }));
    match outcome {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(OpenError(cause_of(&error))),
        Err(panic) if opened.load(Ordering::Relaxed) => resume_unwind(panic),
        Err(panic) => {
            Err(OpenError(panic_text(&*panic).unwrap_or("the window system gave no reason").replace('\n', " ")))
        }
    }
}

fn cause_of(error: &eframe::Error) -> String {
    let told = one_line(error);
    match error {
        eframe::Error::Glutin(_) | eframe::Error::NoGlutinConfigs(..) | eframe::Error::OpenGL(_) => {
            let detail = told.rsplit("Error: ").next().unwrap_or(&told);
            format!(
                "no OpenGL driver that works was found ({detail}); Debian's are in the packages libgl1, libgl1-mesa-dri and libegl1"
            )
        }
        _ => {
            // winit puts the place in its own source before the cause.
            let cause = told.split_once(".rs:").and_then(|(_, rest)| rest.split_once(": ")).map(|(_, cause)| cause);
            cause.unwrap_or(&told).to_owned()
        }
    }
}

fn missing_display() -> Option<String> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let none = cfg!(target_os = "linux") && !set("DISPLAY") && !set("WAYLAND_DISPLAY") && !set("WAYLAND_SOCKET");
    none.then(|| "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".into())
}
