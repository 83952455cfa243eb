//! The compiled kernels, as text for the driver.

/// The kernels compiled for a class of GPUs.
#[derive(Clone, Copy, Debug)]
pub struct Tier {
    /// Its name, and that of its file.
    pub name: &'static str,
    /// The lowest compute capability that runs it, such as (7, 5).
    pub capability: (i32, i32),
    /// The PTX of all its kernels.
    pub text: &'static str,
}

/// Kernels for every GPU since Turing: plain fused multiply-adds.
pub const PORTABLE: Tier = Tier { name: "portable", capability: (7, 5), text: include_str!("../ptx/portable.ptx") };

/// Kernels for GPUs from Ampere on: asynchronous copies and tensor cores.
pub const AMPERE: Tier = Tier { name: "ampere", capability: (8, 0), text: include_str!("../ptx/ampere.ptx") };

/// Kernels for Hopper: its own matrix instructions.
pub const HOPPER: Tier = Tier { name: "hopper", capability: (9, 0), text: include_str!("../ptx/hopper.ptx") };

/// All tiers.
pub const TIERS: [Tier; 3] = [PORTABLE, AMPERE, HOPPER];

/// LLVM's comment with which every function begins; it ends where the next begins.
const FUNCTION: &str = "\t// .globl\t";
/// The declaration of constant memory, 64 KiB in every module that has it.
const CONSTANTS: &str = ".visible .const .align 16 .b8 constants[65536];\n";

/// The functions in the PTX of a tier, each by name and as a module of its own.
pub fn modules(text: &str) -> impl Iterator<Item = (&str, impl Fn() -> String)> {
    let mut parts = text.split(FUNCTION);
    let head = parts.next().unwrap_or_default();
    let module = move |part: &str| {
        // Without what the function does not name.
        let head = if part.contains("constants") { head.to_string() } else { head.replace(CONSTANTS, "") };
        head + FUNCTION + part
    };
    parts.filter_map(move |part| Some((part.lines().next()?, move || module(part))))
}

/// A module with the entry point `name` alone, whichever tier has it: the driver compiles what it is given, and all
/// kernels for all types take it seconds.
///
/// ```
/// assert!(kmeans_kernels::ptx::entry("count_histogram").is_some_and(|module| module.contains(".entry count_histogram(")));
/// assert_eq!(kmeans_kernels::ptx::entry("nothing"), None);
/// ```
pub fn entry(name: &str) -> Option<String> {
    TIERS.iter().find_map(|tier| modules(tier.text).find(|(entry, _)| *entry == name).map(|(_, module)| module()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kmeans_core::launch::{AMPERE_KERNELS, HOPPER_KERNELS, KERNELS};

    #[test]
    fn every_kernel_of_the_contract_can_be_taken_alone() {
        for kernel in KERNELS.iter().chain(AMPERE_KERNELS).chain(HOPPER_KERNELS) {
            let first = kernel.types.first().map_or(kernel.name.to_string(), |t| format!("{}_{t}", kernel.name));
            let module = entry(&first).expect("in the contract, so in the PTX");
            assert_eq!(module.matches(".visible .entry ").count(), 1, "{first}");
            assert!(module.contains(&format!(".visible .entry {first}(")));
            assert!(module.contains(".version") && module.contains("dynamic_shared[]"));
            assert_eq!(module.contains(CONSTANTS), kernel.name == "distance_constant", "{first}");
        }
    }
}
