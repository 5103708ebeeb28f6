//! What this processor can do beyond every processor of its kind. Loops that are compiled twice give the
//! same bits either way, so it never changes a result.

/// Whether loops compiled for AVX2 may run: the processor has it, and the environment does not ask for
/// the portable ones by `LIKEN_PORTABLE=1`.
#[inline]
pub fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::sync::LazyLock;
        static HAS: LazyLock<bool> = LazyLock::new(|| {
            let portable = std::env::var_os("LIKEN_PORTABLE").is_some_and(|value| value == "1");
            !portable && std::arch::is_x86_feature_detected!("avx2")
        });
        *HAS
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}
