//! The rows of `tables.toml`, as constants.

type Words = &'static [&'static str];

/// A row of any table; each table uses some of the fields, as `tables.toml` explains.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) at: &'static str,
    pub(crate) paths: Words,
    pub(crate) secrets: Words,
    pub(crate) when: &'static str,
    pub(crate) env: Words,
    pub(crate) files: Words,
    pub(crate) links: &'static str,
    pub(crate) unlinked: Words,
}

const EMPTY: Row = Row {
    name: "",
    at: "",
    paths: &["/"],
    secrets: &[],
    when: "",
    env: &[],
    files: &[],
    links: "",
    unlinked: &[],
};

include!(concat!(env!("OUT_DIR"), "/tables.rs"));
