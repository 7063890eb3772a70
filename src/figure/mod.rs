//! Heatmaps as SVG and PNG from a [`Run`](crate::run::Run) and a [`ViewSpec`](crate::run::ViewSpec).
//!
//! Colours, labels and cells are made here for the window too: the picture on screen, in a file and from the command
//! line is one picture.

mod cells;
mod colors;
mod comparison;
mod curves;
mod error;
mod fonts;
mod heatmap;
mod labels;
mod panel;
mod ranks;
mod render;
mod tint;

pub use cells::{Cells, Most, NOT_FINITE, NOT_FINITE_NAME, NOTHING, cell_shown, paint, paint_attention};
pub use colors::{Ground, Palette, Rgb};
pub use comparison::ComparisonFigure;
pub use curves::{CurvesFigure, Line};
pub use error::FigureError;
pub use heatmap::{HeatmapFigure, axis};
pub use labels::{every_nth, printable, reading_notes, unit_label, unit_labels, view_name};
pub use render::{FileKind, Pixels, Png, Svg, word_picture};
pub use tint::Tint;
