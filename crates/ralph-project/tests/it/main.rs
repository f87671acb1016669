//! Tests with real files.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests start programs, touch files and fail loudly"
)]

mod docs;
mod gates;
