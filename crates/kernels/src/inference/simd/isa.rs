//! Which instruction set runs, chosen once at run time.

use std::cell::Cell;

#[cfg(target_arch = "x86_64")]
use crate::tiles::TileProduct;

/// Instruction sets with kernels of their own, from the plainest up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Whatever the target's baseline offers.
    Portable,
    /// AVX2 with FMA.
    Avx2,
    /// AVX2 with FMA and AVX-VNNI.
    AvxVnni,
    /// AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
    /// The same, with the tiles of AMX-INT8 for products in int8.
    Amx,
}

thread_local! {
    static LIMIT: Cell<Isa> = const { Cell::new(Isa::Amx) };
}

/// Runs `work` with kernels of at most `limit` on this thread: for tests and for measuring what an older processor does.
pub fn with_isa_at_most<T>(limit: Isa, work: impl FnOnce() -> T) -> T {
    struct Restore(Isa);
    impl Drop for Restore {
        fn drop(&mut self) {
            LIMIT.set(self.0);
        }
    }
    let _restore = Restore(LIMIT.replace(limit));
    work()
}

impl Isa {
    const ALL: [Self; 5] = [Self::Portable, Self::Avx2, Self::AvxVnni, Self::Avx512, Self::Amx];

    /// The best instruction set of this processor within this thread's limit.
    #[must_use]
    #[inline]
    pub fn best() -> Self {
        let limit = LIMIT.get();
        let best = Self::ALL.into_iter().rev().find(|isa| *isa <= limit && isa.is_available());
        best.unwrap_or(Self::Portable)
    }

    /// Whether this processor has it. None follows from a better one: AVX-512 VNNI comes without AVX-VNNI on Zen 4.
    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        let avx2 = || is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = || {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
        };
        match self {
            Self::Portable => true,
            Self::Avx2 => avx2(),
            Self::AvxVnni => avx2() && is_x86_feature_detected!("avxvnni"),
            Self::Avx512 => avx2() && avx512(),
            Self::Amx => avx2() && avx512() && TileProduct::Int8.is_available(),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        self == Self::Portable
    }
}

/// Defines `fn name(args)`, or `fn name[T: Bound](args)`, as a call of `generic(simd, args)`, compiled for each instruction set, with the best one that
/// the processor has. `generic` and all that it calls with `simd` must be `#[inline(always)]`.
macro_rules! on_best_isa {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $([$generic_type:ident: $bound:path])? ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $generic:path;) => {
        $(#[$meta])*
        $vis fn $name $(<$generic_type: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                use $crate::inference::simd::{Avx2, Avx512, Isa};
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
                fn avx512 $(<$generic_type: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
                    // SAFETY: this function is entered only where the processor has these instructions.
                    $generic(unsafe { Avx512::new() }, $($arg),*)
                }
                #[target_feature(enable = "avx2,fma,avxvnni")]
                fn avx_vnni $(<$generic_type: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
                    // SAFETY: as above.
                    $generic(unsafe { Avx2::<true>::new() }, $($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2 $(<$generic_type: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
                    // SAFETY: as above.
                    $generic(unsafe { Avx2::<false>::new() }, $($arg),*)
                }
                match Isa::best() {
                    // SAFETY: `best` names only what is available on this processor.
                    Isa::Amx | Isa::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    Isa::AvxVnni => return unsafe { avx_vnni($($arg),*) },
                    // SAFETY: as above.
                    Isa::Avx2 => return unsafe { avx2($($arg),*) },
                    Isa::Portable => {}
                }
            }
            $generic($crate::inference::simd::Portable, $($arg),*)
        }
    };
}
pub(crate) use on_best_isa;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_limit_leaves_is_there() {
        for limit in Isa::ALL {
            let best = with_isa_at_most(limit, Isa::best);
            assert!(best <= limit && best.is_available(), "{limit:?} leaves {best:?}");
        }
    }
}
