//! Growing sums by level, with queries for the sum of all levels below one.

/// The number of levels from which a Fenwick tree is faster than adding up.
const TREE: usize = 24;

/// Sums of `K` numbers by level.
pub struct LevelSums<const K: usize> {
    sums: Vec<[f64; K]>,
    /// Whether `sums` are the nodes of a Fenwick tree.
    tree: bool,
}

impl<const K: usize> LevelSums<K> {
    /// Sums for the levels below `top`; `many` allows the tree, which supports only `below`.
    pub fn new(top: usize, many: bool) -> Self {
        LevelSums { sums: vec![[0.0; K]; top], tree: many && top >= TREE }
    }

    /// Adds to a level; the top one, which is below no other, is ignored.
    #[inline]
    pub fn add(&mut self, level: usize, numbers: [f64; K]) {
        if !self.tree {
            if let Some(sum) = self.sums.get_mut(level) {
                add(sum, &numbers, 1.0);
            }
            return;
        }
        let mut node = level + 1;
        while node <= self.sums.len() {
            add(&mut self.sums[node - 1], &numbers, 1.0);
            node += node & node.wrapping_neg();
        }
    }

    /// The sum over the levels below `level`.
    #[inline]
    pub fn below(&self, level: usize) -> [f64; K] {
        let mut sum = [0.0; K];
        if !self.tree {
            self.sums[..level].iter().for_each(|numbers| add(&mut sum, numbers, 1.0));
            return sum;
        }
        let mut node = level;
        while node > 0 {
            add(&mut sum, &self.sums[node - 1], 1.0);
            node &= node - 1;
        }
        sum
    }

    /// The sum over the levels below `level`, each times its `cost`.
    #[inline]
    pub fn below_by(&self, level: usize, cost: impl Fn(usize) -> f64) -> [f64; K] {
        let mut sum = [0.0; K];
        for (other, numbers) in self.sums[..level].iter().enumerate() {
            add(&mut sum, numbers, cost(other));
        }
        sum
    }
}

#[inline]
fn add<const K: usize>(sum: &mut [f64; K], numbers: &[f64; K], scale: f64) {
    for k in 0..K {
        sum[k] += scale * numbers[k];
    }
}
