//! Workshop.
fn main() {}
