//! Loads into the cache that a loop over rows in random order asks for in advance.

/// How many rows ahead of its use an item is prefetched.
pub(super) const AHEAD: usize = 32;

/// Loads an item into the cache, without waiting for it.
#[inline(always)]
pub(super) fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing into the program and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(items.as_ptr().wrapping_add(at).cast::<i8>()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
}
