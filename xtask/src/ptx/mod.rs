//! The committed PTX: making it and checking it.

pub mod compile;
mod cubin;
mod expected;
mod ptxas;
pub mod sources;
mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use compile::Compiler;
use kmeans_core::launch::{AMPERE_KERNELS, HOPPER_KERNELS, KERNELS, Kernel};
use text::Module;

/// A class of GPUs that kernels are compiled for.
pub struct Tier {
    /// The file is `<name>.ptx`.
    name: &'static str,
    /// The lowest GPU that runs it.
    cpu: &'static str,
    /// The cargo feature of kmeans-kernels that holds its kernels, if they are not the ones every build has.
    feature: Option<&'static str>,
    /// Its part of the launch contract.
    kernels: &'static [Kernel],
}

/// All tiers.
const TIERS: &[Tier] = &[
    Tier { name: "portable", cpu: "sm_75", feature: None, kernels: KERNELS },
    Tier { name: "ampere", cpu: "sm_80", feature: Some("ampere"), kernels: AMPERE_KERNELS },
    Tier { name: "hopper", cpu: "sm_90a", feature: Some("hopper"), kernels: HOPPER_KERNELS },
];

impl Tier {
    fn path(&self, root: &Path) -> PathBuf {
        root.join("kmeans-kernels/ptx").join(self.name).with_extension("ptx")
    }

    /// What a file of this tier begins with.
    fn header(&self, compiler: &str, sources: &str) -> String {
        format!(
            "// kmeans-kernels, tier {} for {} and up. Made by `cargo xtask ptx`; do not edit.\n\
             // compiler: {compiler}\n// flags: {}\n// sources: sha256 {sources}\n",
            self.name,
            self.cpu,
            compile::flags(self),
        )
    }
}

/// `cargo xtask ptx`.
pub fn write(root: &Path) -> Result<()> {
    let compiler = Compiler::find()?;
    let sources = sources::hash(root)?;
    for (tier, text) in TIERS.iter().zip(compiler.compile_all(root)?) {
        let text = tier.header(&compiler.version, &sources) + &text;
        let path = tier.path(root);
        fs::create_dir_all(path.parent().context("a folder")?)?;
        fs::write(&path, &text).with_context(|| format!("writing {}", path.display()))?;
        println!("{}: {} kernels, {} KiB", tier.name, Module::parse(&text)?.kernels.len(), text.len() / 1024);
    }
    cubin::write(root)
}

/// `cargo xtask check-ptx`.
pub fn check(root: &Path) -> Result<()> {
    let sources = sources::hash(root)?;
    let compiler = Compiler::find().ok();
    let mut faults = Vec::new();
    // What is committed is assembled while it is made anew: the compiler and the assembler use one core each.
    let (assembled, rebuilt) = thread::scope(|scope| {
        let assembled = scope.spawn(|| TIERS.iter().map(|tier| ptxas::check(root, tier)).collect::<Vec<_>>());
        let rebuilt = compiler.as_ref().map(|compiler| compiler.compile_all(root)).transpose();
        (assembled.join().expect("no panic in it"), rebuilt)
    });
    let rebuilt = rebuilt?;
    for ((i, tier), assembled) in TIERS.iter().enumerate().zip(assembled) {
        let path = tier.path(root);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("{} is missing: run `cargo xtask ptx`", path.display()))?;
        let made_by = text.lines().find_map(|l| l.strip_prefix("// compiler: ")).unwrap_or("?");
        if !text.starts_with(&tier.header(made_by, &sources)) {
            faults.push(format!("{}: sources or flags changed since it was made: run `cargo xtask ptx`", tier.name));
        }
        let module = Module::parse(&text)?;
        faults.extend(module.surprises());
        faults.extend(expected::differences(&module, tier.kernels));
        match compiler.as_ref().zip(rebuilt.as_ref()) {
            Some((compiler, rebuilt)) if compiler.version == made_by => {
                let same = text == tier.header(made_by, &sources) + &rebuilt[i];
                println!("{}: rebuilt with {made_by}: {}", tier.name, if same { "the same" } else { "different" });
                if !same {
                    faults.push(format!("{}: a rebuild gives other PTX: run `cargo xtask ptx`", tier.name));
                }
            }
            _ => println!("{}: not rebuilt, since {made_by} is not here", tier.name),
        }
        let (table, faults_here) = assembled?;
        print!("{table}");
        faults.extend(faults_here);
    }
    faults.extend(cubin::check(root)?);
    for fault in &faults {
        eprintln!("{fault}");
    }
    ensure!(faults.is_empty(), "{} faults in the PTX", faults.len());
    println!("the PTX is as it should be");
    Ok(())
}

/// Runs a command and returns what it printed.
pub fn output(command: &mut std::process::Command) -> Result<String> {
    let out = command.output().with_context(|| format!("starting {command:?}"))?;
    if !out.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&out.stderr));
    }
    Ok(String::from_utf8(out.stdout)? + &String::from_utf8(out.stderr)?)
}
