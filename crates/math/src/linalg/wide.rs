//! Loops compiled a second time for wider instructions, chosen at run time.

/// Runs `work`, compiled for AVX2 where the machine has it. Nothing is fused, so the bits are the
/// same. Only functions inlined into `work` profit.
#[inline(always)]
pub fn widest<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    if crate::processor::has_avx2() {
        // SAFETY: the machine has what the function is compiled for.
        return unsafe { avx2(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// sum += factor·row.
#[inline(always)]
pub fn add_scaled(sum: &mut [f32], factor: f32, row: &[f32]) {
    sum.iter_mut().zip(row).for_each(|(sum, &entry)| *sum += factor * entry);
}
