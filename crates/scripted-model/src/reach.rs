//! What leads an agent to the model: a row of `agents.toml`, filled in with the model's address.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The rows of all agents.
static ROWS: LazyLock<BTreeMap<String, Reach>> =
    LazyLock::new(|| toml::from_str(include_str!("agents.toml")).unwrap_or_default());

/// How an agent is led to the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reach {
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Files in its home folder.
    pub settings: BTreeMap<String, String>,
    /// How often the agent itself asks again when it is refused for a limit.
    pub retries: usize,
}

impl Reach {
    /// Returns the row of this agent for a model at this address; `None` if there is none.
    pub fn find(agent: &str, base_url: &str) -> Option<Self> {
        let filled = |texts: &BTreeMap<String, String>| {
            let fill =
                |(name, text): (&String, &String)| (name.clone(), text.replace("{URL}", base_url));
            texts.iter().map(fill).collect()
        };
        let row = ROWS.get(agent)?;
        Some(Self { env: filled(&row.env), settings: filled(&row.settings), retries: row.retries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_led_to_the_address() {
        assert_eq!(ROWS.len(), 9);
        for agent in ROWS.keys() {
            let row = Reach::find(agent, "http://127.0.0.1:7").unwrap();
            let mut texts = row.env.values().chain(row.settings.values());
            assert!(texts.any(|text| text.contains("127.0.0.1:7")), "{agent}");
        }
    }
}
