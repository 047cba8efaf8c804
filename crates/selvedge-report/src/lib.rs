//! What users see: an execution or a result as text, as JSON, as a table.
//!
//! Pure functions over one input type, [`TraceView`]: nothing here prints, reads a file or asks for
//! the terminal. So the command line and a failing test show the same thing. The one exception is
//! [`write_whole`], so that both write files the same way.

mod columns;
mod excerpt;
mod file;
mod json;
mod number;
mod paint;
mod table;
mod text;
mod view;
mod width;

pub use file::write_whole;
pub use json::{
    CheckJson, CompareJson, CompareRowJson, ConstantJson, CoversJson, ExecutionsJson, FactJson,
    InconclusiveJson, PlaceJson, ReplayJson, StatisticsJson, StepJson, ViolationJson, WaitingJson,
    facts_json, to_text,
};
pub use number::{bytes, grouped, plural, rate, seconds};
pub use paint::{Paint, Style};
pub use table::{Align, Table};
pub use text::{TextOptions, execution, has_room, violation};
pub use view::{PlaceView, StepView, TraceView, ViolationView, WaitingView, line_of, status_text};
pub use width::{visible, width};
