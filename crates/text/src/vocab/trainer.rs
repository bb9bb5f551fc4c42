//! The one call into the C++ trainer.
#![expect(unsafe_code, reason = "the trainer is a C++ function that the bindings leave out")]

use crate::TextError;
use std::{ffi::c_int, ffi::c_void, slice};

unsafe extern "C" {
    /// See `shim/trainer.cc`: trains and hands the model, or the reason why there is none, to `receive`.
    fn umlaut_train_vocab(
        options: *const u8,
        options_size: usize,
        sentences: *const u8,
        sentences_size: usize,
        receive: extern "C" fn(*mut c_void, *const u8, usize),
        sink: *mut c_void,
    ) -> c_int;
}

/// Trains a model with the options (`name=value`) on the sentences, both as lines that end with LF.
///
/// # Errors
/// [`TextError::Train`] with the library's reason.
pub(super) fn train(options: &str, sentences: &str) -> Result<Vec<u8>, TextError> {
    let mut answer = Vec::<u8>::new();
    // SAFETY: both strings outlive the call, which reads exactly the bytes they have. `receive` is called once, before
    // the call returns, with `sink`: a valid, exclusive pointer to `answer`. C++ exceptions are caught in the shim.
    let code = unsafe {
        umlaut_train_vocab(
            options.as_ptr(),
            options.len(),
            sentences.as_ptr(),
            sentences.len(),
            receive,
            (&raw mut answer).cast(),
        )
    };
    if code == 0 { Ok(answer) } else { Err(TextError::Train { reason: String::from_utf8_lossy(&answer).into_owned() }) }
}

/// Copies the bytes that the trainer hands over.
extern "C" fn receive(sink: *mut c_void, bytes: *const u8, size: usize) {
    // SAFETY: `sink` is the `answer` of `train`, which waits in the call; `bytes` points to `size` bytes of a C++
    // string, never null and alive until this function returns.
    let (answer, bytes) = unsafe { (&mut *sink.cast::<Vec<u8>>(), slice::from_raw_parts(bytes, size)) };
    answer.extend_from_slice(bytes);
}
