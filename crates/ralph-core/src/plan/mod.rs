//! Plans: placeholder until the module lands.
