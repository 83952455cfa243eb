//! Counter-based random numbers: Philox4x32-10.
//!
//! A draw is a pure function of seed, stream, step and index, so that any thread, any GPU thread and any order of work
//! makes the same draw. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Ten rounds of Philox4x32: 128 random bits for a 128-bit counter and a 64-bit key.
#[inline]
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
        }
        let a = counter[0] as u64 * MULTIPLIERS[0] as u64;
        let b = counter[2] as u64 * MULTIPLIERS[1] as u64;
        counter = [(b >> 32) as u32 ^ counter[1] ^ key[0], b as u32, (a >> 32) as u32 ^ counter[3] ^ key[1], a as u32];
    }
    counter
}

/// What a draw is for. Two purposes never see the same random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// A random label for each point.
    Label = 1,
    /// Choosing points without replacement.
    Point = 2,
    /// The trials of k-means++.
    PlusPlus = 3,
    /// The rounds of k-means||.
    Parallel = 4,
    /// A place for a random-label cluster that got no point.
    Vacancy = 5,
    /// Reducing the candidates of k-means|| to k.
    Reduce = 6,
    /// The seeds of the children of a tree's node.
    Child = 7,
}

impl Purpose {
    /// The purpose with this number, if there is one.
    #[inline]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Label),
            2 => Some(Self::Point),
            3 => Some(Self::PlusPlus),
            4 => Some(Self::Parallel),
            5 => Some(Self::Vacancy),
            6 => Some(Self::Reduce),
            7 => Some(Self::Child),
            _ => None,
        }
    }
}

/// Random numbers for one start of one fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    seed: u64,
    restart: u32,
}

impl Random {
    /// The draws of restart number `restart` (from 0) under `seed`. Restarts from 2²⁴ on repeat earlier ones.
    #[inline]
    pub fn new(seed: u64, restart: u32) -> Self {
        Self { seed, restart: restart & 0x00ff_ffff }
    }

    /// Seed and restart, for a kernel to make the same of.
    #[inline]
    pub fn parts(&self) -> (u64, u32) {
        (self.seed, self.restart)
    }

    /// 64 random bits for `index` at `step` of `purpose`.
    #[inline]
    pub fn bits(&self, purpose: Purpose, step: u32, index: u64) -> u64 {
        let counter = [index as u32, (index >> 32) as u32, step, purpose as u32 | self.restart << 8];
        let out = philox(counter, [self.seed as u32, (self.seed >> 32) as u32]);
        (out[1] as u64) << 32 | out[0] as u64
    }

    /// A number in `0..bound`, `bound` ≥ 1; the bias is below `bound`/2⁶⁴.
    #[inline]
    pub fn below(&self, bound: u64, purpose: Purpose, step: u32, index: u64) -> u64 {
        ((self.bits(purpose, step, index) as u128 * bound as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_test_vectors() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn below_stays_in_range_and_reaches_every_value() {
        let random = Random::new(7, 0);
        let mut seen = [0; 10];
        for i in 0..10_000 {
            seen[random.below(10, Purpose::Label, 0, i) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
    }

    #[test]
    fn purposes_are_found_by_their_numbers() {
        for number in 0..10 {
            let purpose = Purpose::from_number(number);
            assert_eq!(purpose.map(|p| p as u32), (1..=7).contains(&number).then_some(number));
        }
    }

    #[test]
    fn purposes_steps_and_restarts_draw_differently() {
        let a = Random::new(7, 0).bits(Purpose::Label, 0, 0);
        assert_ne!(a, Random::new(7, 1).bits(Purpose::Label, 0, 0));
        assert_ne!(a, Random::new(8, 0).bits(Purpose::Label, 0, 0));
        assert_ne!(a, Random::new(7, 0).bits(Purpose::Point, 0, 0));
        assert_ne!(a, Random::new(7, 0).bits(Purpose::Label, 1, 0));
    }
}
