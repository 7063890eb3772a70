//! The window. It draws what it holds and asks the engine for the rest, through the protocol alone.

mod app;
mod controls;
mod conversation;
mod edits;
mod export;
mod grid;
mod heatmap;
mod marks;
mod output;
mod ranking;
mod share;
mod start;
mod surgery;
mod text_boxes;

pub use app::{HeadlightApp, Opening};
pub use start::{OpenError, Theme, open};
