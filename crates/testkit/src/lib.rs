//! What tests talk to instead of the world. Nothing here ships.

pub mod layouts;
pub mod upstream;
