//! Tests of what the interpreter tells about its state.
