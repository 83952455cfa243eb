//! Which class of kernels a GPU runs.

use kmeans_kernels::ptx::{AMPERE, HOPPER, PORTABLE, Tier};

/// The environment variable that names the best tier to use, for tests and comparisons.
pub const TIER_VARIABLE: &str = "KMEANS_CUDA_TIER";

/// The tiers, in increasing order.
const TIERS: [Tier; 3] = [PORTABLE, AMPERE, HOPPER];

/// Whether GPUs of a compute capability can run a tier.
fn can_run(capability: (i32, i32), tier: &Tier) -> bool {
    match tier.name {
        // Hopper's own instructions exist on no other class of GPU, later ones included.
        "hopper" => capability == tier.capability,
        _ => capability >= tier.capability,
    }
}

/// The best tier for a compute capability; at most the one named `limit`.
pub(super) fn best_tier(capability: (i32, i32), limit: Option<&str>) -> Tier {
    let limit = TIERS.iter().position(|tier| Some(tier.name) == limit).unwrap_or(TIERS.len() - 1);
    *TIERS[..=limit].iter().rev().find(|tier| can_run(capability, tier)).unwrap_or(&PORTABLE)
}

/// The names of the tiers that GPUs of a compute capability can run, in increasing order: what [`TIER_VARIABLE`] may say.
#[cfg(feature = "kernels")]
pub fn tiers(capability: (i32, i32)) -> Vec<&'static str> {
    TIERS.iter().filter(|tier| can_run(capability, tier)).map(|tier| tier.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_tier_is_one_the_gpu_can_run() {
        let name = |capability, limit| best_tier(capability, limit).name;
        assert_eq!(name((7, 5), None), "portable");
        assert_eq!(name((8, 9), None), "ampere");
        assert_eq!(name((9, 0), None), "hopper");
        assert_eq!(name((10, 0), None), "ampere");
        assert_eq!(name((9, 0), Some("ampere")), "ampere");
        assert_eq!(name((9, 0), Some("portable")), "portable");
        assert_eq!(name((8, 0), Some("hopper")), "ampere");
    }

    #[cfg(feature = "kernels")]
    #[test]
    fn the_tiers_of_a_gpu_are_those_it_can_be_limited_to() {
        for capability in [(7, 5), (8, 0), (9, 0), (10, 0)] {
            let tiers = tiers(capability);
            assert_eq!(tiers.last(), Some(&best_tier(capability, None).name));
            assert!(tiers.iter().all(|tier| best_tier(capability, Some(tier)).name == *tier));
        }
    }
}
