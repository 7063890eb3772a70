use crate::run::RunError;

/// Why a figure could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("the figure could not be drawn: {0}")]
    Draw(String),
    #[error("the figure could not be turned into pixels: {0}")]
    Render(String),
}
