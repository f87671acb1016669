//! Masks what looks like a secret, so that text can be stored.
//!
//! It recognises keys by their known prefixes, values assigned to names like `password`, bearer
//! tokens, passwords in URLs, private key blocks, signed tokens, and long machine-generated words.
//! Commit ids, checksums and UUIDs stay readable.
//!
//! ```
//! use ralph_base::secrets::mask;
//!
//! assert_eq!(mask("use sk-ant-api03-0123456789abcdef now"), "use [masked] now");
//! assert_eq!(mask("API_KEY=\"hunter2hunter2\""), "API_KEY=\"[masked]\"");
//! assert_eq!(mask("fix 3c42706aa11bb22cc33dd44ee55ff66778899aab"),
//!     "fix 3c42706aa11bb22cc33dd44ee55ff66778899aab");
//! ```

/// The replacement for a secret.
pub const MASK: &str = "[masked]";

/// Known prefixes of keys.
const BEGINNINGS: [&str; 42] = [
    "dp.pt.",
    "sk-",
    "rk_live_",
    "sk_live_",
    "rk_test_",
    "sk_test_",
    "pk_live_",
    "whsec_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "pypi-",
    "hf_",
    "SG.",
    "gsk_",
    "xai-",
    "pplx-",
    "nvapi-",
    "r8_",
    "hvs.",
    "dop_v1_",
    "shpat_",
    "shpss_",
    "sq0atp-",
    "lin_api_",
    "figd_",
    "tskey-",
    "dckr_pat_",
    "glptt-",
    "gldt-",
    "AGE-SECRET-KEY-",
];

/// Shorter words are not keys, whatever their prefix.
const SHORTEST_KEY: usize = 20;

/// Parts of names that suggest a secret, without `_` and `-`.
const TELLING: [&str; 10] = [
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "passphrase",
    "accountkey",
];

/// Shorter values of such names are taken for words of a sentence.
const SHORTEST_VALUE: usize = 6;

/// The least length of a word of mixed characters that counts as machine-generated.
const LONG_WORD: usize = 40;

/// Returns the text with its secrets masked.
pub fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut before = Before::Nothing;
    let mut rest = text;
    while !rest.is_empty() {
        let last = masked.chars().next_back();
        if let Some(length) = private_key_block(rest).or_else(|| assigned(rest, before, last)) {
            masked.push_str(MASK);
            rest = rest.get(length..).unwrap_or_default();
            before = Before::Nothing;
            continue;
        }
        let length = rest.find(|c| !is_key_char(c)).unwrap_or(rest.len());
        if length == 0 {
            let c = rest.chars().next().unwrap_or_default();
            before = before.then(c);
            masked.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (word, after) = rest.split_at(length);
        let is_secret = match before {
            Before::Bearer => {
                let is_made = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase();
                word.len() >= SHORTEST_VALUE && word.bytes().any(is_made)
            }
            Before::User => after.starts_with('@'),
            _ => false,
        };
        masked.push_str(if is_secret || is_key(word) { MASK } else { word });
        before = Before::after(word);
        rest = after;
    }
    masked
}

/// Returns JSON text with the secrets in each of its strings masked; what is no JSON is masked as text.
pub fn mask_json(json: &str) -> String {
    let (mut masked, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(at) = rest.find('"') {
        let (before, from) = rest.split_at(at);
        // Most strings are one ordinary word: a name, a time, an id.
        let word = from.get(1..).and_then(|text| text.split_once(|c| !is_key_char(c)));
        if let Some((word, after)) = word
            && from.as_bytes().get(1 + word.len()) == Some(&b'"')
            && !is_key(word)
        {
            let (literal, _) = from.split_at(word.len() + 2);
            masked.push_str(before);
            masked.push_str(literal);
            rest = after;
            continue;
        }
        let mut strings = serde_json::Deserializer::from_str(from).into_iter::<String>();
        let Some(Ok(text)) = strings.next() else { break };
        let (literal, after) = from.split_at(strings.byte_offset());
        let hidden = mask(&text);
        masked.push_str(before);
        match serde_json::to_string(&hidden) {
            Ok(new) if hidden != text => masked.push_str(&new),
            _ => masked.push_str(literal),
        }
        rest = after;
    }
    masked + &mask(rest)
}

/// Returns the length of a value assigned to a secret's name: up to the closing quote, or else up
/// to where a value ends in shells, source code and data.
fn assigned(rest: &str, before: Before, last: Option<char>) -> Option<usize> {
    let is_value = !rest.starts_with([' ', '"', '\'', '`', '=', '>']) && !rest.starts_with(MASK);
    if before != Before::Assignment || !is_value {
        return None;
    }
    let line = rest.lines().next().unwrap_or_default();
    let quoted = last.filter(|c| matches!(c, '"' | '\'' | '`')).and_then(|quote| line.find(quote));
    let ends = |c: char| c.is_whitespace() || "\"'`,;)]}<>".contains(c);
    let length = quoted.or_else(|| line.find(ends)).unwrap_or(line.len());
    (length >= SHORTEST_VALUE).then_some(length)
}

/// The context in front of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing of interest.
    Nothing,
    /// A name that suggests a secret.
    Name,
    /// Such a name and an assignment sign.
    Assignment,
    /// The word `Bearer` or `Basic`.
    Bearer,
    /// `//` in a URL, and a name.
    Address,
    /// A user name in a URL, and a colon.
    User,
}

impl Before {
    /// Returns the context after a character that is not part of a key.
    fn then(self, c: char) -> Self {
        match (self, c) {
            (Self::Name, '=' | ':') => Self::Assignment,
            (Self::Name | Self::Assignment | Self::Bearer, ' ' | '"' | '\'' | '`' | '>') => self,
            (Self::Address, ':') => Self::User,
            (Self::Assignment, '=') => self,
            _ => Self::Nothing,
        }
    }

    fn after(word: &str) -> Self {
        if word.starts_with("//") {
            Self::Address
        } else if word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic") {
            Self::Bearer
        } else if is_telling(word) || word.ends_with("_KEY") {
            // A command-line option takes the next word as its value, with or without `=`.
            if word.starts_with("--") { Self::Assignment } else { Self::Name }
        } else {
            Self::Nothing
        }
    }
}

/// Returns whether a name contains one of the [`TELLING`] parts, whatever its case and its `_` and `-`.
fn is_telling(name: &str) -> bool {
    let is_joint = |byte: &u8| matches!(byte, b'_' | b'-');
    let begins = |at: usize, part: &str| {
        let rest = name.as_bytes().get(at..).unwrap_or_default();
        let mut letters = rest.iter().filter(|byte| !is_joint(byte));
        part.bytes()
            .all(|byte| letters.next().is_some_and(|other| other.to_ascii_lowercase() == byte))
    };
    let is_first = |byte: u8| TELLING.iter().any(|part| part.as_bytes().first() == Some(&byte));
    let mut letters =
        name.bytes().enumerate().filter(|(_, byte)| is_first(byte.to_ascii_lowercase()));
    letters.any(|(at, _)| TELLING.iter().any(|part| begins(at, part)))
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+' | '~' | '$' | '%')
}

/// Whether a word is a key by itself.
fn is_key(word: &str) -> bool {
    let first = word.as_bytes().first();
    let begins = |part: &&str| part.as_bytes().first() == first && word.starts_with(part);
    let known = word.len() >= SHORTEST_KEY && BEGINNINGS.iter().any(begins);
    let is_webhook = word.contains("hooks.slack.com/services/");
    // Three parts separated by dots, the first of which is the start of a base64-encoded object.
    let is_signed_token =
        word.starts_with("eyJ") && word.len() >= 30 && word.matches('.').count() == 2;
    known || is_webhook || is_signed_token || is_machine_made(word)
}

/// Whether a long word mixes lower case, upper case and digits; paths and checksums do not.
fn is_machine_made(word: &str) -> bool {
    word.len() >= LONG_WORD
        && !word.contains(['/', '.', '_', '-'])
        && word.bytes().any(|byte| byte.is_ascii_lowercase())
        && word.bytes().any(|byte| byte.is_ascii_uppercase())
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns the length of a private key block at the start; without an end, it is the whole text.
fn private_key_block(text: &str) -> Option<usize> {
    const END: &str = "-----END";
    let header = text.strip_prefix("-----BEGIN ")?;
    let (title, _) = header.split_once("-----")?;
    if !title.ends_with("PRIVATE KEY") || title.contains('\n') {
        return None;
    }
    let end = text.find(END).and_then(|at| {
        let after = text.get(at + END.len()..)?;
        Some(at + END.len() + after.find("-----")? + "-----".len())
    });
    Some(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(mask(text), expected);
    }

    #[test]
    fn values_of_names_that_suggest_a_secret_are_masked() {
        check("API_KEY=abcdefgh", "API_KEY=[masked]");
        check("x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij", "x=[masked]");
        check(&"aB3".repeat(20), "[masked]");
        check("export DB_PASSWORD='hunter2-x'", "export DB_PASSWORD='[masked]'");
        check("\"client_secret\": \"abc123def\"", "\"client_secret\": \"[masked]\"");
        check("password: hunter2!", "password: [masked]");
        check("password=Tr0ub4dor&3xyz now", "password=[masked] now");
        check("PASSWORD=\"p@ss w0rd!x\" now", "PASSWORD=\"[masked]\" now");
        check("export STRIPE_KEY=zq8Yw2kLmN4p", "export STRIPE_KEY=[masked]");
        check("Authorization: Bearer abcdef123456", "Authorization: Bearer [masked]");
        check("postgres://app:hunter2@db/x", "postgres://app:[masked]@db/x");
    }

    #[test]
    fn private_key_blocks_are_masked_to_their_end() {
        let block = "-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----";
        check(&format!("a\n{block}\nb"), "a\n[masked]\nb");
        check("-----BEGIN PRIVATE KEY-----\nabc", "[masked]");
        check("-----BEGIN CERTIFICATE-----\nabc", "-----BEGIN CERTIFICATE-----\nabc");
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in [
            "fix the token parser in src/token.rs, please",
            "the password field is empty",
            "session 2f34ec4b-e866-4eb9-9c21-1d11a42caab5",
            "commit 3c42706aa11bb22cc33dd44ee55ff66778899aab",
            "sk-learn and ski-lift, AKIA",
            "see https://example.com/a/b?c=d#e",
            "secret: x",
            "Größe 3 — naïve",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn every_string_of_a_json_text_is_masked() {
        let key = "sk-ant-api03-0123456789abcdef0123";
        let said = format!("PASSWORD=\"hunter2hunter2\" and {key}\n");
        let commit = "3c42706aa11bb22cc33dd44ee55ff66778899aab";
        let json = serde_json::json!({"why": said, "n": 1, "to": commit, "tests": [said, "a\"b"]});
        let masked = mask_json(&json.to_string());
        let masked: serde_json::Value = serde_json::from_str(&masked).unwrap();
        let hidden = "PASSWORD=\"[masked]\" and [masked]\n";
        let expected =
            serde_json::json!({"why": hidden, "n": 1, "to": commit, "tests": [hidden, "a\"b"]});
        assert_eq!(masked, expected);
    }

    #[test]
    fn every_key_of_the_corpus_is_masked_in_any_context() {
        let shapes = test_support::key_shapes();
        assert!(shapes.len() > 50);
        for shape in shapes {
            for text in [
                shape.text.clone(),
                format!("$ run\nfailed with {} after 3 s\n", shape.text),
                format!("(`{}`, next)", shape.text),
                format!("{{\"value\":\"{}\"}}", shape.text),
            ] {
                let kept = mask(&text);
                let left = shape.secrets.iter().find(|secret| kept.contains(secret.as_str()));
                assert_eq!(left, None, "{}: {kept}", shape.name);
            }
        }
    }

    proptest! {
        #[test]
        fn a_known_key_is_always_masked(before in "[ \"'(,]{0,4}", after in "[ \"'),]{1,4}", key in "[A-Za-z0-9]{30}") {
            let text = format!("{before}ghp_{key}{after}");
            prop_assert!(!mask(&text).contains(&key));
        }

        #[test]
        fn masking_twice_changes_nothing(text in "(\\PC|token|password|[= :\"'])*") {
            let masked = mask(&text);
            prop_assert_eq!(mask(&masked), masked);
        }
    }
}
