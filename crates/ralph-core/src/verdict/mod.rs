//! Verdicts: placeholder until the module lands.
