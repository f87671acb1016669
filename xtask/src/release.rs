//! `cargo xtask release`: everything that people download, in `target/packages`. The same sources,
//! built by the same compiler, give the same bytes, wherever they lie.

mod deb;
mod lint;
mod machine;
mod npm;
mod packages;
mod publisher;
mod target;
mod tree;
mod trial;

use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use sha2::{Digest, Sha256};
use test_support::Scratch;

pub(crate) use self::lint::workflows as lint_workflows;
use self::publisher::Publisher;
use self::target::Target;
use self::tree::{Tree, gz};
use crate::{dist, run};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where the packages go.
const PACKAGES: &str = "target/packages";

const SUMS: &str = "SHA256SUMS";

const INSTALL: &str = include_str!("../packaging/install.sh");

/// What belongs into every package, from the root of the sources.
const LICENCES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// The licences of others.
const NOTICES: &str = "THIRD-PARTY.txt";

/// What is made, and what is done with it.
#[derive(Args)]
pub(crate) struct Release {
    /// A machine, as rustc names it; may be repeated. If none is named: Linux, on all processors that the
    /// compiler has libraries for.
    #[arg(long = "target", value_name = "TRIPLE")]
    targets: Vec<String>,
    /// Take the programs from this folder instead of building them; for a single target.
    #[arg(long, value_name = "DIR")]
    binaries: Option<Utf8PathBuf>,
    /// The address of the folder that the packages will be downloaded from; goes into install.sh. What is
    /// published so must say whose it is, in Cargo.toml.
    #[arg(long, default_value = "")]
    url: String,
    /// Install each package without cargo and use it: here, in a new Debian (needs mmdebstrap), and
    /// those of other processors by qemu.
    #[arg(long = "try")]
    is_tried: bool,
    /// Build it all again from a clone in another folder, and compare.
    #[arg(long)]
    twice: bool,
    /// Lint the workflows, the scripts and the Dockerfile; needs shellcheck, npm, python and registries.
    #[arg(long)]
    lint: bool,
}

/// Runs the task.
pub(crate) fn run(wanted: &Release) -> Result<()> {
    if wanted.lint {
        lint::run()?;
    }
    let targets = Target::chosen(&wanted.targets)?;
    let publisher = Publisher::read(!wanted.url.is_empty())?;
    ensure!(wanted.binaries.is_none() || targets.len() == 1, "--binaries is for a single --target");
    let folder = run::root().join(PACKAGES);
    if folder.exists() {
        fs_err::remove_dir_all(&folder)?;
    }
    fs_err::create_dir_all(&folder)?;
    let documents = Documents::read(publisher)?;
    for target in &targets {
        let binaries = match &wanted.binaries {
            Some(binaries) => run::root().join(binaries),
            None => dist::build(target.triple)?,
        };
        documents.pack(*target, &binaries, &folder)?;
    }
    let front = npm::front(&documents.licences, documents.at)?;
    fs_err::write(folder.join(format!("ralph-loop-{VERSION}.tgz")), front)?;
    fs_err::write(folder.join("install.sh"), install_script(&wanted.url))?;
    let sums = sums(&folder)?;
    fs_err::write(folder.join(SUMS), &sums)?;
    print!("{sums}");
    if wanted.twice {
        again(&targets, &wanted.url, &sums)?;
    }
    if wanted.is_tried {
        for target in targets {
            trial::run(target, &folder)?;
        }
    }
    Ok(())
}

/// What all packages hold besides the programs.
struct Documents {
    licences: Vec<(&'static str, String)>,
    /// Completions and manual pages, by their paths below a prefix such as `/usr/local`.
    shared: Vec<(String, Vec<u8>)>,
    /// The time of all files.
    at: u64,
    publisher: Publisher,
}

impl Documents {
    fn read(publisher: Publisher) -> Result<Self> {
        let read = |name| Ok((name, fs_err::read_to_string(run::root().join(name))?));
        let licences = LICENCES.into_iter().map(read).collect::<Result<_>>()?;
        Ok(Self { licences, shared: shared_files()?, at: time_of_sources()?, publisher })
    }

    /// Writes the archive, the Debian package, the npm package and the list of parts for one machine.
    fn pack(&self, target: Target, binaries: &Utf8Path, folder: &Utf8Path) -> Result<()> {
        let parts = packages::linked(target)?;
        let read = |name| Ok((name, fs_err::read(binaries.join(name))?));
        let programs: Vec<(&str, Vec<u8>)> =
            dist::BINARIES.into_iter().map(read).collect::<Result<_>>()?;
        let notices = packages::notices(&parts)?;
        let tree = self.tree(&programs, &notices);
        let name = target.archive();
        fs_err::write(folder.join(format!("{name}.tar.gz")), tree.tar_gz(&name)?)?;
        let bill = packages::bill_of_materials(&parts, target)?;
        fs_err::write(folder.join(format!("{name}.cdx.json")), bill)?;
        if let Some(architecture) = target.debian {
            let name = format!("ralph-loop_{VERSION}_{architecture}.deb");
            let control = deb::control_file(tree.size(), architecture, &self.publisher);
            fs_err::write(folder.join(name), deb::deb(&tree, control, self.at)?)?;
        }
        let name = format!("{}-{VERSION}.tgz", target.npm_package());
        let licences = [&self.licences[..], &[(NOTICES, notices)]].concat();
        let package = npm::machine(target, &programs, &licences, self.at)?;
        Ok(fs_err::write(folder.join(name), package)?)
    }

    /// What lies below a prefix.
    fn tree(&self, programs: &[(&str, Vec<u8>)], notices: &str) -> Tree {
        let mut tree = Tree::new(self.at);
        for (name, bytes) in programs {
            tree.add_program(format!("bin/{name}"), bytes.clone());
        }
        for (path, bytes) in &self.shared {
            tree.add(path.clone(), bytes.clone());
        }
        for (name, text) in &self.licences {
            tree.add(format!("share/doc/ralph-loop/{name}"), text.as_str());
        }
        let copyright = "Licensed under MIT or Apache-2.0, as you like; see LICENSE-MIT and \
                         LICENSE-APACHE. THIRD-PARTY.txt names the packages inside.\n";
        tree.add("share/doc/ralph-loop/copyright", copyright);
        tree.add(format!("share/doc/ralph-loop/{NOTICES}"), notices);
        tree
    }
}

/// Completions and manual pages, from the program itself as it is built for this machine.
fn shared_files() -> Result<Vec<(String, Vec<u8>)>> {
    let ralph_loop = |args: &[&str]| {
        let mut command = run::command("cargo");
        command.args(["run", "--quiet", "--package", "ralph-loop", "--"]).args(args);
        run::output(&mut command)
    };
    let mut files = Vec::new();
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/ralph-loop"),
        ("zsh", "share/zsh/site-functions/_ralph-loop"),
        // Where Debian's zsh looks.
        ("zsh", "share/zsh/vendor-completions/_ralph-loop"),
        ("fish", "share/fish/vendor_completions.d/ralph-loop.fish"),
    ] {
        files.push((path.to_owned(), ralph_loop(&["completions", shell])?.into_bytes()));
    }
    let pages = Scratch::new();
    ralph_loop(&["man", pages.root().as_str()])?;
    for page in pages.root().read_dir_utf8()? {
        let page = page?;
        let path = format!("share/man/man1/{}.gz", page.file_name());
        files.push((path, gz(&fs_err::read(page.path())?)?));
    }
    Ok(files)
}

/// When the sources were committed, or what `SOURCE_DATE_EPOCH` says.
fn time_of_sources() -> Result<u64> {
    let said = std::env::var("SOURCE_DATE_EPOCH").ok();
    let committed = || run::output(run::command("git").args(["log", "-1", "--format=%ct"]));
    let at = said.map_or_else(committed, Ok)?;
    at.trim().parse().with_context(|| format!("not a number of seconds: {at:?}"))
}

/// The script for a certain version and, if it is known, a certain place.
fn install_script(url: &str) -> String {
    INSTALL.replace("@VERSION@", VERSION).replace("@URL@", url)
}

/// A line for each file, as `sha256sum` writes and checks them.
fn sums(folder: &Utf8Path) -> Result<String> {
    let mut names = Vec::new();
    for entry in folder.read_dir_utf8()? {
        names.push(entry?.file_name().to_owned());
    }
    names.sort();
    let mut sums = String::new();
    for name in names.iter().filter(|name| *name != SUMS) {
        let sum = Sha256::digest(fs_err::read(folder.join(name))?);
        for byte in sum {
            write!(sums, "{byte:02x}")?;
        }
        writeln!(sums, "  {name}")?;
    }
    Ok(sums)
}

/// Makes the same packages from the same commit in another folder, and compares.
fn again(targets: &[Target], url: &str, sums: &str) -> Result<()> {
    let other = Scratch::new();
    let clone = other.path("sources");
    run::run(run::command("git").args(["clone", "--quiet", ".", clone.as_str()]))?;
    let mut release = run::command("cargo");
    release.current_dir(&clone).args(["xtask", "release", "--url", url]);
    release.args(targets.iter().flat_map(|target| ["--target", target.triple]));
    run::run(release.env_remove("CARGO_TARGET_DIR"))?;
    let others = fs_err::read_to_string(clone.join(PACKAGES).join(SUMS))?;
    ensure!(others == sums, "another build gave other bytes; is everything committed?\n{others}");
    println!("another build in {clone} gave the same bytes");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use test_support::{program, run_with_input};

    use super::*;

    /// Serves the files of a folder on loopback for as long as the tests run; returns its address.
    fn served(folder: &Utf8Path) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let folder = folder.to_owned();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
                let (status, body) = match fs_err::read(folder.join(path)) {
                    Ok(body) => ("200 OK", body),
                    Err(_) => ("404 Not Found", Vec::new()),
                };
                let length = body.len();
                let head = format!("HTTP/1.0 {status}\r\nContent-Length: {length}\r\n\r\n");
                drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)));
            }
        });
        address
    }

    /// A release with a program that says hello; installs it and returns what was said.
    fn installed(scratch: &Scratch, spoil: impl Fn(&Utf8Path)) -> (bool, String) {
        let folder = scratch.dir("packages");
        let name = format!("ralph-loop-{VERSION}-x86_64-unknown-linux-musl");
        let mut tree = Tree::new(1);
        tree.add_program("bin/ralph-loop", "#!/bin/sh\necho hello\n");
        tree.add("share/doc/ralph-loop/README.md", "read me");
        fs_err::write(folder.join(format!("{name}.tar.gz")), tree.tar_gz(&name).unwrap()).unwrap();
        fs_err::write(folder.join(SUMS), sums(&folder).unwrap()).unwrap();
        spoil(&folder.join(format!("{name}.tar.gz")));
        scratch.script("bin/uname", "#!/bin/sh\ntest $1 = -s && echo Linux || echo x86_64\n");
        let mut shell = program("/bin/sh", &scratch.dir("a home"));
        shell.env("PATH", format!("{}:/usr/bin:/bin", scratch.path("bin")));
        shell.arg("-s");
        let script = install_script(&served(&folder));
        let output = run_with_input(&mut shell, script.as_bytes());
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    }

    #[test]
    fn the_install_script_fetches_compares_and_unpacks() {
        let scratch = Scratch::new();
        for _ in 0..2 {
            let (ok, said) = installed(&scratch, |_| ());
            assert!(ok && said.contains("add it to PATH"), "{said}");
        }
        let home = scratch.path("a home/.local");
        let said = run::output(&mut program(home.join("bin/ralph-loop"), scratch.root())).unwrap();
        assert_eq!(said, "hello\n");
        assert_eq!(
            fs_err::read_to_string(home.join("share/doc/ralph-loop/README.md")).unwrap(),
            "read me"
        );
        let left: Vec<_> = home
            .read_dir_utf8()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_owned())
            .collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    /// A release that was spoilt: nothing of it is installed.
    fn refused(spoil: impl Fn(&Utf8Path), reason: &str) {
        let scratch = Scratch::new();
        let (ok, said) = installed(&scratch, spoil);
        assert!(!ok && said.contains(reason), "{said}");
        let left = scratch.path("a home/.local").read_dir_utf8().unwrap().count();
        assert_eq!(left, 0, "{said}");
    }

    #[test]
    fn the_install_script_refuses_what_was_not_published() {
        refused(|archive| fs_err::write(archive, "x").unwrap(), "is not what was published");
        refused(|archive| fs_err::remove_file(archive).unwrap(), "could not fetch");
        let sums = |archive: &Utf8Path| archive.with_file_name(SUMS);
        refused(|archive| fs_err::write(sums(archive), "").unwrap(), "does not name");
    }

    #[test]
    fn cargo_binstall_is_led_to_the_archive() {
        let target = Target::find("x86_64-unknown-linux-musl").unwrap();
        for package in ["loop-bin", "hooks-bin"] {
            let manifest = run::root().join(package).join("Cargo.toml");
            let manifest = fs_err::read_to_string(manifest).unwrap();
            let manifest = manifest.replace("{ version }", VERSION);
            let manifest = manifest.replace("{ target }", target.triple);
            assert!(manifest.contains(&format!("/{}.tar.gz\"", target.archive())), "{package}");
            assert!(
                manifest.contains(&format!("\"{}/bin/{{ bin }}", target.archive())),
                "{package}"
            );
            // It asks the package where that is.
            assert!(manifest.contains("\nrepository.workspace = true\n"), "{package}");
        }
    }

    #[test]
    fn the_feature_has_the_version_of_the_programs() {
        let text = include_str!("../packaging/devcontainer/devcontainer-feature.json");
        let feature: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(feature["version"], VERSION);
    }
}
