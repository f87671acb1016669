//! A recipe's file in YAML, and what it says at a place.

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::tools;
use crate::run;

/// Has the schemas of Kubernetes, and a reader of YAML.
const PACKAGE: &str = "kubernetes-validate==1.37.0";

const READER: &str = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";

/// The content of a file.
pub(super) struct Yaml {
    path: Utf8PathBuf,
    content: Value,
}

impl Yaml {
    pub(super) fn read(path: &Utf8Path) -> Result<Self> {
        let mut reader = program("python")?;
        let text = run::output(reader.args(["-c", READER, path.as_str()]))?;
        Ok(Self { path: path.to_owned(), content: serde_json::from_str(&text)? })
    }

    /// What stands at a place: `/spec/completions`, for instance.
    pub(super) fn at<T: DeserializeOwned>(&self, place: &str) -> Result<T> {
        let found = self.content.pointer(place);
        let found = found.with_context(|| format!("{} has no {place}", self.path))?;
        serde_json::from_value(found.clone()).with_context(|| format!("{place} of {}", self.path))
    }
}

/// Compares a manifest with the published schemas, fields that they do not know included.
pub(super) fn validate(manifest: &Utf8Path) -> Result<()> {
    run::run(program("kubernetes-validate")?.args(["--strict", manifest.as_str()]))
}

fn program(name: &str) -> Result<std::process::Command> {
    Ok(run::command(tools::from_python_index(PACKAGE)?.join(name).as_str()))
}
