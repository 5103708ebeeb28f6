//! Random draws of the demo log.

use super::log::Demo;
use crate::random::Random;

/// One stream of random numbers per step, so that a change of one step does not affect the others.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Documents,
    Queries,
    Clicks,
    Judgments,
    Visitors,
}

impl Demo {
    pub(super) fn random(&self, stream: Stream) -> Random {
        Random::new(self.seed, stream as u64)
    }
}

/// Distributes `total` over `n` shares, each between about half and one and a half of the mean.
pub(super) fn spread(total: usize, n: usize, random: &mut Random) -> Vec<usize> {
    let mean = total as f64 / n as f64;
    let mut carried = 0.0;
    let mut shares: Vec<usize> = (0..n / 2)
        .flat_map(|_| {
            let off = mean * 0.5 * random.uniform();
            [mean + off, mean - off]
        })
        .chain((n % 2 == 1).then_some(mean))
        .map(|share| {
            // The rounding error is added to the next share, so that the sum is exact.
            let whole = (share + carried).round();
            carried += share - whole;
            whole as usize
        })
        .collect();
    random.shuffle(&mut shares);
    shares
}

pub(super) fn pick<'a, T>(items: &'a [T], random: &mut Random) -> &'a T {
    &items[random.below(items.len() as u64) as usize]
}

pub(super) fn chance(probability: f64, random: &mut Random) -> bool {
    random.uniform() < probability
}
