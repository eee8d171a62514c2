//! The footprint of a request and of a tool catalogue, and the advice that follows.
