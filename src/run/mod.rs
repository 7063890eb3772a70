//! The plain data that everything speaks: heads, tokens, attention maps, a finished run, and how to view it.
//!
//! Nothing here knows libtorch or a window. A [`Run`] is made once and shared behind an `Arc`.

mod align;
mod edit;
mod error;
mod file;
mod finite;
mod head;
mod load_report;
mod maps;
mod model_info;
mod outcome;
mod place;
mod pooling;
mod reading;
mod recipe;
mod task;
mod text_file;
mod token;
mod unknown;
mod view;
mod what_file;

pub use align::align;
pub use edit::{Edit, HeadPattern, Intervention, Source, TokenChoice};
pub use error::{RunError, one_line, panic_text};
pub use file::{Stored, run_bytes, write_safetensors, write_tensors};
pub use finite::{cell, greatest_finite};
pub use head::HeadId;
pub use load_report::LoadReport;
pub use maps::{AttentionMap, AttentionMaps};
pub use model_info::{MaskPiece, ModelInfo, Prefix};
pub use outcome::{Embedding, Run, Silence};
pub use place::{end_of_links, is_standard_output, write_bytes};
pub use pooling::Pooling;
pub use reading::{ColorScale, PoolBy, Pooled, Reading, Segments, Specials, Units};
pub use recipe::Recipe;
pub use task::{Scale, Task, TaskInfo, TaskOutput};
pub use text_file::{as_utf8, lines_of, read_lines};
pub use token::{Input, Limit, MaskedToken, Role, Segment, Span, Texts, Token};
pub use unknown::{Unknown, UnknownBy, UnknownCause};
pub use view::{ColorMap, Crop, MapRange, TokenRange, ViewSpec};
pub use what_file::{told_cause, what_it_is};
