//! What one captured request carries.

mod report;

pub use report::{
    AnomalyEntry, BlockFootprint, Image, Lever, Levers, OriginFootprint, Part, RequestFootprint, RequestTool,
    SCHEMA, Slices, Standing, StandingPart,
};
