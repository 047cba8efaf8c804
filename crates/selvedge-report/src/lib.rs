//! What users see: an execution or a result as text, as JSON, as a table.
//!
//! Pure functions over two input types: an execution is a [`TraceView`], a check an [`Outcome`]. Nothing here prints, reads a file or asks for
//! the terminal. So the command line and a failing test show the same thing. The one exception is
//! [`write_whole`], so that both write files the same way.

mod accesses;
mod annotations;
mod colours;
mod columns;
mod excerpt;
mod file;
mod html;
mod json;
mod number;
mod outcome;
mod paint;
mod pictures;
mod source;
mod table;
mod text;
mod tree;
mod view;
mod why;
mod width;

pub use annotations::github;
pub use colours::{COLOURS, contrast};
pub use file::write_whole;
pub use html::page;
pub use json::{
    CompareJson, CompareRowJson, ConstantJson, CoversJson, ExecutionsJson, InconclusiveJson,
    ReplayJson, to_text,
};
pub use number::{bytes, grouped, plural, rate, seconds};
pub use outcome::{Advice, DepthSizes, Encoding, Method, Outcome, Sizes};
pub use paint::{Paint, Style};
pub use pictures::{
    Curve, PairOfThreads, Panel, Plot, Unit, dot, mermaid, plot, svg, transactions,
};
pub use source::{SourceView, sources};
pub use table::{Align, Table};
pub use text::{TextOptions, execution, has_room, violation};
pub use tree::Tree;
pub use view::{
    AccessView, EdgeView, Origin, OtherView, PlaceView, StepView, TraceView, ValueView,
    ViolationView, WaitingView, status_text,
};
pub use width::{visible, width};
