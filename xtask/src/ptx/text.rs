//! Reading PTX: its kernels, their parameters, and how often an instruction occurs in each.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// A file of PTX.
pub struct Module {
    /// Its kernels by name.
    pub kernels: BTreeMap<String, Kernel>,
    lines: Vec<String>,
}

/// A kernel in PTX.
pub struct Kernel {
    /// The type of each parameter, such as `.u64`.
    pub parameters: Vec<String>,
    /// The first word of each instruction, predicates dropped.
    instructions: Vec<String>,
}

impl Module {
    /// Splits a file into its kernels.
    pub fn parse(text: &str) -> Result<Self> {
        let mut kernels = BTreeMap::new();
        for part in text.split(".visible .entry ").skip(1) {
            let (name, rest) = part.split_once('(').context("an entry has a parameter list")?;
            let (parameters, rest) = rest.split_once(')').context("a parameter list ends")?;
            let body = rest.split("\n}").next().unwrap_or_default();
            let parameters = parameters
                .lines()
                .filter_map(|l| l.trim().strip_prefix(".param ")?.split(' ').next())
                .map(String::from);
            // Inline assembly may put several instructions, and braces, on one line.
            let instructions = body
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .flat_map(|line| line.split([';', '{']))
                .filter_map(|i| i.split_whitespace().find(|w| !w.starts_with('@')).map(String::from));
            let kernel = Kernel { parameters: parameters.collect(), instructions: instructions.collect() };
            kernels.insert(name.trim().to_string(), kernel);
        }
        Ok(Self { kernels, lines: text.lines().map(String::from).collect() })
    }

    /// Things that must not be in a module at all.
    pub fn surprises(&self) -> Vec<String> {
        let unwanted = |line: &str| {
            let line = line.trim_start();
            // A call into `core` that nothing will resolve (a panic, most likely), or traces of the machine that built it.
            line.starts_with(".extern .func") || line.starts_with(".file") || line.starts_with(".loc\t")
        };
        self.lines.iter().filter(|line| unwanted(line)).map(|line| format!("unwanted in PTX: {line}")).collect()
    }
}

impl Kernel {
    /// How many instructions begin with `prefix`.
    pub fn count(&self, prefix: &str) -> usize {
        self.instructions.iter().filter(|i| i.starts_with(prefix)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".visible .entry a(\n\t.param .u64 .ptr .align 1 a_param_0,\n\t.param .u32 a_param_1\n)\n{\n\
        \tbar.sync \t0;\n\t@%p1 bra \t$L;\n\t// begin inline asm\n\t{ .reg .b64 t; red.add [t], %r1; }\n\t// bar.sync\n}\n\
        .visible .entry b()\n{\n\tbar.sync 0;\n\tbar.sync 0;\n}\n";

    #[test]
    fn kernels_parameters_and_instructions_are_found() {
        let module = Module::parse(TEXT).unwrap();
        assert_eq!(module.kernels.keys().collect::<Vec<_>>(), ["a", "b"]);
        let a = &module.kernels["a"];
        assert_eq!(a.parameters, [".u64", ".u32"]);
        assert_eq!((a.count("bar.sync"), a.count("bra"), a.count("red.")), (1, 1, 1));
        assert_eq!(module.kernels["b"].count("bar.sync"), 2);
        assert!(module.surprises().is_empty());
    }

    #[test]
    fn unresolved_functions_are_surprises() {
        let module = Module::parse(".extern .func core_panicking_panic\n").unwrap();
        assert_eq!(module.surprises().len(), 1);
    }
}
