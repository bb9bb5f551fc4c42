//! Translate.
