//! Tables that `build.rs` has made of data, sorted by name.

/// The row of this name.
pub(crate) fn find<T>(table: &'static [(&'static str, T)], name: &str) -> Option<&'static T> {
    let at = table.binary_search_by(|(other, _)| (*other).cmp(name)).ok()?;
    table.get(at).map(|(_, row)| row)
}
