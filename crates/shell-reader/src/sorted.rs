//! Tables that are sorted by name, as build scripts make them.

/// The row of this name.
pub fn find<T>(table: &'static [(&'static str, T)], name: &str) -> Option<&'static T> {
    let at = table.binary_search_by(|(other, _)| (*other).cmp(name)).ok()?;
    table.get(at).map(|(_, row)| row)
}
