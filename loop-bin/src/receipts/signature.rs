//! Signs receipts as DSSE envelopes, and checks signatures: with the keys and programs that git is set up with.
//! Neither reads from a terminal.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use data_encoding::BASE64;
use jiff::Timestamp;
use ralph_base::state;
use ralph_base::supervised::{self, CheckEnd, Door};
use ralph_core::git::Git;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

const PAYLOAD: &str = "application/vnd.in-toto+json";

/// The namespace of git's own signatures: whoever may sign commits may sign receipts. What is signed
/// begins with `DSSEv1`, so it is never a commit.
const NAMESPACE: &str = "git";

/// How long a program may take; one that asks somebody gets no answer.
const LIMIT: Duration = Duration::from_secs(20);

/// A signed statement.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope {
    payload_type: String,
    payload: String,
    signatures: Vec<Signed>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Signed {
    #[serde(default)]
    keyid: String,
    sig: String,
}

/// What a signature is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Signature {
    None,
    /// By a key that the user trusts: whose it is.
    Good(String),
    /// By a key of which the user does not know whose it is, or which is no longer valid.
    Unknown(String),
    /// It is none, or of another text.
    Bad(String),
}

/// The settings of git for signing.
struct SetUp<'a> {
    git: &'a Git,
    is_ssh: bool,
    program: String,
}

impl<'a> SetUp<'a> {
    fn read(git: &'a Git, is_ssh: bool) -> Self {
        let names: &[&str] =
            if is_ssh { &["gpg.ssh.program"] } else { &["gpg.openpgp.program", "gpg.program"] };
        let set = names.iter().find_map(|name| setting(git, name));
        let usual = if is_ssh { "ssh-keygen" } else { "gpg" };
        Self { git, is_ssh, program: set.unwrap_or_else(|| usual.to_owned()) }
    }

    /// Runs the program. It returns whether that went well, and what the program said.
    fn run(&self, args: &[&str], input: &[u8]) -> Result<(bool, String), Failure> {
        let mut command = Door::default().command(&self.program);
        command.current_dir(self.git.dir()).env("LC_ALL", "C");
        // Nobody is there to answer.
        command
            .env_remove("GPG_TTY")
            .env("SSH_ASKPASS", "false")
            .env("SSH_ASKPASS_REQUIRE", "force");
        if !self.is_ssh {
            command.args(["--batch", "--no-tty", "--pinentry-mode", "error", "--status-fd", "1"]);
        }
        command.args(args);
        let (end, said) = supervised::run(command, input, Some(LIMIT), &|| false, None)
            .map_err(|error| Failure::because(format!("cannot start {}: {error}", self.program)))?;
        Ok((end == CheckEnd::Exited(Some(0)), said.trim().to_owned()))
    }
}

fn setting(git: &Git, name: &str) -> Option<String> {
    git.line(&["config", "--type=path", "--get", name]).ok().filter(|value| !value.is_empty())
}

/// The text that is signed for a payload.
fn to_sign(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {PAYLOAD} {} ", PAYLOAD.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

impl Envelope {
    /// Signs a statement with the key with which git signs commits. Files are written to the folder.
    pub(super) fn sealed(git: &Git, folder: &Utf8Path, statement: &str) -> Result<Self, Failure> {
        let is_ssh = match setting(git, "gpg.format").as_deref() {
            Some("ssh") => true,
            None | Some("openpgp") => false,
            Some(other) => {
                let why = format!("receipts cannot be signed with gpg.format = {other}");
                return Err(Failure::because(why));
            }
        };
        let (set_up, scratch) = (SetUp::read(git, is_ssh), Scratch::new(folder)?);
        let (text, signature) = (
            scratch.with("receipt", &to_sign(statement.as_bytes()))?,
            scratch.0.join("receipt.sig"),
        );
        let (is_done, said) = if is_ssh {
            let (key, is_public) = ssh_key(git, &scratch)?;
            let how = ["-Y", "sign", "-n", NAMESPACE, "-f", key.as_str()];
            let agent: &[&str] = if is_public { &["-U"] } else { &[] };
            set_up.run(&[&how, agent, &[text.as_str()]].concat(), b"")?
        } else {
            let user = || git.line(&["var", "GIT_COMMITTER_IDENT"]);
            let ident = |user: String| user.rsplit_once("> ").map(|(user, _)| format!("{user}>"));
            let set = setting(git, "user.signingkey");
            let key = set.or(user().ok().and_then(ident)).unwrap_or_default();
            let out = ["--local-user", &key, "--armor", "--output", signature.as_str()];
            set_up.run(&[&out[..], &["--detach-sign", text.as_str()]].concat(), b"")?
        };
        if !is_done {
            return Err(Failure::because(said));
        }
        let signed = Signed { keyid: String::new(), sig: BASE64.encode(&state::read(signature)?) };
        let payload = BASE64.encode(statement.as_bytes());
        Ok(Self { payload_type: PAYLOAD.to_owned(), payload, signatures: vec![signed] })
    }

    /// Returns the statement.
    pub(super) fn content(&self) -> Result<Vec<u8>, String> {
        let read = BASE64.decode(self.payload.as_bytes());
        read.map_err(|error| format!("its envelope cannot be read ({error})"))
    }

    /// Checks its signature as that of a commit of this time.
    pub(crate) fn verify(
        &self,
        git: &Git,
        folder: &Utf8Path,
        at: i64,
    ) -> Result<Signature, Failure> {
        let bad = |why: &str| Ok(Signature::Bad(why.to_owned()));
        let (Ok(payload), [signed]) = (self.content(), self.signatures.as_slice()) else {
            return bad("it needs one signature");
        };
        let Ok(sig) = BASE64.decode(signed.sig.as_bytes()) else { return bad("it cannot be read") };
        let is_ssh = sig.starts_with(b"-----BEGIN SSH");
        let (set_up, scratch, text) =
            (SetUp::read(git, is_ssh), Scratch::new(folder)?, to_sign(&payload));
        if self.payload_type != PAYLOAD {
            return bad("it is of another type");
        }
        let sig = scratch.with("receipt.sig", &sig)?;
        if is_ssh { by_ssh(&set_up, &sig, &text, at) } else { by_gpg(&set_up, &sig, &text) }
    }
}

/// The file with the key, and whether it has only the public part, so that an agent must sign.
fn ssh_key(git: &Git, scratch: &Scratch) -> Result<(Utf8PathBuf, bool), Failure> {
    let by_command = || {
        let command = setting(git, "gpg.ssh.defaultKeyCommand")?;
        let shell = SetUp { git, is_ssh: true, program: "sh".to_owned() };
        let (_, said) = shell.run(&["-c", &command], b"").ok()?;
        Some(said.lines().next()?.to_owned())
    };
    let key = setting(git, "user.signingkey").or_else(by_command);
    let key = key.ok_or_else(|| Failure::because("user.signingkey is not set"))?;
    let literal = key.strip_prefix("key::").or_else(|| key.starts_with("ssh-").then_some(&*key));
    Ok(match literal {
        Some(literal) => (scratch.with("key", literal.as_bytes())?, true),
        None => (key.into(), false),
    })
}

fn by_ssh(set_up: &SetUp<'_>, sig: &Utf8Path, text: &[u8], at: i64) -> Result<Signature, Failure> {
    let check = ["-Y", "check-novalidate", "-n", NAMESPACE, "-s", sig.as_str()];
    let (is_whole, said) = set_up.run(&check, text)?;
    if !is_whole {
        return Ok(Signature::Bad(said.lines().last().unwrap_or_default().to_owned()));
    }
    let Some(allowed) = setting(set_up.git, "gpg.ssh.allowedSignersFile") else {
        let why = "gpg.ssh.allowedSignersFile is not set";
        return Ok(Signature::Unknown(why.to_owned()));
    };
    let at = Timestamp::from_second(at).unwrap_or_default().strftime("%Y%m%d%H%M%SZ");
    let (at, common) = (format!("-Overify-time={at}"), ["-f", &allowed, "-s", sig.as_str()]);
    let find = [&["-Y", "find-principals", &at], &common[..]].concat();
    let (_, found) = set_up.run(&find, b"")?;
    let revoked = setting(set_up.git, "gpg.ssh.revocationFile");
    let revoked: Vec<&str> = revoked.iter().flat_map(|file| ["-r", file]).collect();
    for who in found.lines() {
        let verify = ["-Y", "verify", "-n", NAMESPACE, "-I", who, &at];
        if set_up.run(&[&verify[..], &common, &revoked].concat(), text)?.0 {
            return Ok(Signature::Good(who.to_owned()));
        }
    }
    Ok(Signature::Unknown(format!("nobody in {allowed} had it then")))
}

fn by_gpg(set_up: &SetUp<'_>, sig: &Utf8Path, text: &[u8]) -> Result<Signature, Failure> {
    let (_, said) = set_up.run(&["--verify", sig.as_str(), "-"], text)?;
    let status = |word: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix("[GNUPG:] ")?.strip_prefix(word));
        line.map(|line| line.trim().split_once(' ').map_or("", |(_, rest)| rest).to_owned())
    };
    let unknown = [
        ("NO_PUBKEY", "not in the keyring"),
        ("EXPKEYSIG", "expired"),
        ("REVKEYSIG", "revoked"),
        ("EXPSIG", "expired"),
    ];
    Ok(if let Some(who) = status("GOODSIG") {
        Signature::Good(who)
    } else if let Some((_, why)) = unknown.iter().find(|(word, _)| said.contains(word)) {
        Signature::Unknown(format!("its key is {why}"))
    } else {
        Signature::Bad("gpg rejects it".to_owned())
    })
}

/// A folder for the files of one call, removed at its end.
struct Scratch(Utf8PathBuf);

impl Scratch {
    fn new(folder: &Utf8Path) -> Result<Self, Failure> {
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let path = folder.join(format!("receipt-{}-{number}", std::process::id()));
        fs_err::create_dir_all(&path)?;
        Ok(Self(path))
    }

    fn with(&self, name: &str, text: &[u8]) -> Result<Utf8PathBuf, Failure> {
        let path = self.0.join(name);
        state::replace_unsynced(&path, text)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs_err::remove_dir_all(&self.0);
    }
}
