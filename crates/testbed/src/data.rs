//! Known data: a stream of bytes from a seed, and the number by which both endpoints compare what they had.
//!
//! The bytes are SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014), each
//! number in little-endian order. The hash is FNV-1a with 64 bits. tests/interop/peer.cc has the same two.
//! Neither resists forgery.

/// Bytes from a seed.
#[derive(Debug, Clone)]
pub struct Source {
    state: u64,
    word: [u8; 8],
    used: usize,
}

impl Source {
    /// The stream of that seed.
    pub const fn new(seed: u64) -> Self {
        Self {
            state: seed,
            word: [0; 8],
            used: 8,
        }
    }

    /// The next bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        for byte in out {
            if self.used == self.word.len() {
                self.word = self.next_word().to_le_bytes();
                self.used = 0;
            }
            *byte = self.word[self.used];
            self.used += 1;
        }
    }

    const fn next_word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// FNV-1a of all bytes so far, and how many they were.
#[derive(Debug, Clone)]
pub struct Tally {
    hash: u64,
    bytes: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            hash: 0xCBF2_9CE4_8422_2325,
            bytes: 0,
        }
    }
}

impl Tally {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
        self.bytes += bytes.len() as u64;
    }

    /// How many bytes there were.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hash in hexadecimal.
    pub fn hash(&self) -> String {
        format!("{:016x}", self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64_whatever_the_pieces() {
        // The first two numbers of seed 0: 0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4.
        let mut whole = [0; 16];
        Source::new(0).fill(&mut whole);
        assert_eq!(whole[..8], 0xE220_A839_7B1D_CDAF_u64.to_le_bytes());
        assert_eq!(whole[8..], 0x6E78_9E6A_A1B9_65F4_u64.to_le_bytes());
        let mut parts = [0; 16];
        let mut source = Source::new(0);
        source.fill(&mut parts[..3]);
        source.fill(&mut parts[3..11]);
        source.fill(&mut parts[11..]);
        assert_eq!(parts, whole);
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        let mut tally = Tally::default();
        assert_eq!(tally.hash(), "cbf29ce484222325");
        tally.add(b"foo");
        tally.add(b"bar");
        assert_eq!(tally.hash(), "85944171f73967e8");
        assert_eq!(tally.bytes(), 6);
    }
}
