use std::path::PathBuf;

use crate::run::RunError;

/// Why a figure could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{} has no ending that says what to draw: end it with .png or .svg", .0.display())]
    UnknownKind(PathBuf),
    #[error("nothing of this text is left to draw: {0}")]
    NothingToShow(&'static str),
    #[error("the figure could not be drawn: {0}")]
    Draw(String),
    #[error("the figure could not be turned into pixels: {0}")]
    Render(String),
}
