//! AMX: eight registers of 16 lines of 64 bytes ("Intel 64 and IA-32 Architectures Software Developer's Manual", volume
//! 1, chapter 18).

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::sync::OnceLock;

/// Lines of a tile.
pub(crate) const TILE_LINES: usize = 16;
/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = 64;

/// What tiles can multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileProduct {
    /// bf16 into f32.
    Bf16,
    /// Unsigned by signed bytes into i32.
    Int8,
}

impl TileProduct {
    /// Whether the processor has it, and the system lets this process use tiles.
    pub(crate) fn is_available(self) -> bool {
        static FOUND: OnceLock<[bool; 2]> = OnceLock::new();
        let [bf16, int8] = *FOUND.get_or_init(|| {
            const AMX_BF16: u32 = 1 << 22;
            const AMX_TILE: u32 = 1 << 24;
            const AMX_INT8: u32 = 1 << 25;
            // Leaf 7 exists where AVX-512 does.
            let has_leaf = is_x86_feature_detected!("avx512f");
            let features = if has_leaf { __cpuid_count(7, 0).edx } else { 0 };
            let may_use = features & AMX_TILE != 0 && system_grants_tiles();
            [AMX_BF16, AMX_INT8].map(|feature| may_use && features & feature != 0)
        });
        if self == Self::Bf16 { bf16 } else { int8 }
    }
}

/// Asks Linux for the tiles' registers, once for the process and the threads to come.
#[cfg(target_os = "linux")]
fn system_grants_tiles() -> bool {
    const REQUEST_PERMISSION: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: the call takes two numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn system_grants_tiles() -> bool {
    false
}

/// Time in which this thread has its tiles set up, all eight whole. They are given back at its end, so that a thread
/// that sleeps has none to save.
#[derive(Debug)]
pub(crate) struct Tiles(());

/// What `ldtilecfg` reads.
#[repr(C, align(64))]
struct Config {
    palette: u8,
    start_line: u8,
    reserved: [u8; 14],
    line_bytes: [u16; 16],
    lines: [u8; 16],
}

impl Tiles {
    /// # Panics
    /// Where there are no tiles.
    pub(crate) fn set_up() -> Self {
        assert!(TileProduct::Bf16.is_available() || TileProduct::Int8.is_available(), "there are no tiles");
        let mut config = Config { palette: 1, start_line: 0, reserved: [0; 14], line_bytes: [0; 16], lines: [0; 16] };
        config.line_bytes[..8].fill(LINE_BYTES as u16);
        config.lines[..8].fill(TILE_LINES as u8);
        // SAFETY: there are tiles; the 64 bytes describe eight of them as the first palette allows.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const config, options(nostack, readonly)) };
        Self(())
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: they were set up.
        unsafe { asm!("tilerelease", options(nomem, nostack)) };
    }
}
