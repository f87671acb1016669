//! The decisions of the four hooks, and the harness around them.
