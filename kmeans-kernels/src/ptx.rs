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

impl Tier {
    /// A module with only the kernels that `keep` names: the driver compiles what it is given, and all kernels for all
    /// types take it over a second.
    ///
    /// ```
    /// let module = kmeans_kernels::ptx::PORTABLE.module(|name| name.starts_with("count_"));
    /// assert!(module.contains(".entry count_histogram(") && !module.contains(".entry assign_direct_f32("));
    /// ```
    pub fn module(&self, keep: impl Fn(&str) -> bool) -> String {
        // Every function begins with this comment of LLVM's, and ends where the next begins.
        let mut parts = self.text.split("\t// .globl\t");
        let head = parts.next().unwrap_or_default();
        let kept = parts.filter(|part| part.lines().next().is_some_and(&keep));
        kept.fold(head.to_string(), |module, part| module + "\t// .globl\t" + part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kmeans_core::launch::{AMPERE_KERNELS, HOPPER_KERNELS, KERNELS};

    #[test]
    fn every_kernel_of_the_contract_can_be_taken_alone() {
        let tiers = [(PORTABLE, KERNELS), (AMPERE, AMPERE_KERNELS), (HOPPER, HOPPER_KERNELS)];
        for (tier, kernel) in tiers.iter().flat_map(|(tier, kernels)| kernels.iter().map(move |k| (tier, k))) {
            let first = kernel.types.first().map_or(kernel.name.to_string(), |t| format!("{}_{t}", kernel.name));
            let module = tier.module(|name| name == first);
            assert_eq!(module.matches(".visible .entry ").count(), 1, "{first}");
            assert!(module.contains(&format!(".visible .entry {first}(")));
            assert!(module.contains(".version") && module.contains("dynamic_shared[]"));
        }
    }

    #[test]
    fn all_kernels_together_are_the_text() {
        for tier in [PORTABLE, AMPERE, HOPPER] {
            assert_eq!(tier.module(|_| true), tier.text);
        }
    }
}
