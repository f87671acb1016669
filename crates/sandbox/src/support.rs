//! What a kernel can enforce, by the version of its interface.

/// The minimum version: 1 refuses renames between folders, and 2 lets any file be truncated.
pub const LEAST_ABI: i32 = 3;

/// The version of the interface since which the kernel can restrict an operation.
const SINCE: [(i32, &str); 5] = [
    (1, "writing files"),
    (2, "moving files between folders"),
    (3, "truncating files"),
    (5, "device commands (ioctl)"),
    (6, "signals and abstract sockets of other processes"),
];

/// What a kernel can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// The name of the kernel's interface.
    pub name: &'static str,
    /// Its version; 0 if there is none.
    pub abi: i32,
    /// The operations that this kernel, unlike a newer one, cannot restrict.
    pub missing: Vec<&'static str>,
}

impl Support {
    /// What macOS can enforce.
    pub const SEATBELT: Self = Self { name: "Seatbelt", abi: 0, missing: Vec::new() };

    /// Returns what a kernel with this version can enforce.
    pub fn of(abi: i32) -> Self {
        let missing = SINCE.iter().filter(|(since, _)| abi < *since).map(|(_, what)| *what);
        Self { name: "Landlock", abi, missing: missing.collect() }
    }

    /// Returns its name and version.
    pub fn in_words(&self) -> String {
        if self.abi == 0 { self.name.to_owned() } else { format!("{} {}", self.name, self.abi) }
    }

    /// Returns whether the kernel enforces enough for a useful sandbox.
    pub fn is_enough(&self) -> bool {
        *self == Self::SEATBELT || self.abi >= LEAST_ABI
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_kernels_enforce_less() {
        let missing = |abi| Support::of(abi).missing;
        assert_eq!(missing(0).len(), SINCE.len());
        assert_eq!(missing(2)[0], "truncating files");
        assert_eq!(missing(3)[0], "device commands (ioctl)");
        assert_eq!(missing(5), ["signals and abstract sockets of other processes"]);
        assert_eq!(missing(6), Vec::<&str>::new());
        assert_eq!([2, 3, 9].map(|abi| Support::of(abi).is_enough()), [false, true, true]);
    }
}
