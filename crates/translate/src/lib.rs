//! Translation of lines of text: the library behind the program `translate`.
//!
//! ```text
//! lines -> Vocab::encode -> batches of similar length -> beam search over Engine -> Vocab::decode -> lines
//! ```
//!
//! [`Translator::score_lines`] and [`Translator::score_stream`] tell how probable the model finds translations that are
//! given.
//!
//! Three promises hold for [`Translator::translate_lines`] and [`Translator::translate_stream`] alike: as many answers
//! come out as lines went in, in their order; a translation depends on nothing but its line, the model and the search
//! options; a line without a token stays blank and never reaches the model.
//!
//! This room knows lines, batches and threads. It refuses to know training, and sees vocabulary and network only as a
//! [`Model`].
//!
//! ```no_run
//! use umlaut_translate::{Options, Translator};
//!
//! let translator = Translator::open("model".as_ref(), Options::default())?;
//! let translations = translator.translate_lines(&["Hello world."])?;
//! println!("{}", translations[0].text());
//! # Ok::<(), umlaut_translate::TranslateError>(())
//! ```

mod builtin;
mod capitals;
mod decode_args;
mod error;
mod format;
mod line;
mod model;
mod options;
mod parallel;
mod score;
mod score_stream;
mod split;
mod stream;
#[cfg(test)]
mod toy;
mod translation;
mod translator;

pub use builtin::BUILTIN_FILES;
pub use decode_args::DecodeArgs;
pub use error::TranslateError;
pub use format::Format;
pub use model::{Model, NeuralModel, Special};
pub use options::Options;
pub use score::{Score, WordScore};
pub use score_stream::{ScoreFormat, Scored};
pub use stream::Answer;
pub use translation::{Alternative, Translation};
pub use translator::Translator;
pub use umlaut_engine::{Isa, Precision};
pub use umlaut_search::{LengthPenalty, TokenId};
