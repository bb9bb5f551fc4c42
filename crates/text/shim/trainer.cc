// One call into SentencePiece's trainer, which the Rust bindings leave out.
//
// The library's headers are not on any path that Cargo promises to a dependent crate, so the three names used here are
// declared by hand, for version 0.2.1 (sentencepiece-sys =0.14.0). A changed name fails at link time. The one thing a
// linker cannot check is the size of `Status`, which the caller allocates: it holds one pointer, and room is left.

#include <cstddef>
#include <exception>
#include <string>
#include <unordered_map>
#include <vector>

namespace sentencepiece {
namespace util {

enum class StatusCode : int { kOk = 0 };

class Status {
 public:
  ~Status();
  StatusCode code() const;
  const char *error_message() const;

 private:
  void *rep_[8];
};

}  // namespace util

class SentencePieceTrainer {
 public:
  static util::Status Train(const std::unordered_map<std::string, std::string> &options,
                            const std::vector<std::string> &sentences, std::string *model);
};

}  // namespace sentencepiece

namespace {

// The lines of a text in which every line ends with LF.
std::vector<std::string> Lines(const char *text, std::size_t size) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; end < size; ++end) {
    if (text[end] != '\n') continue;
    lines.emplace_back(text + begin, end - begin);
    begin = end + 1;
  }
  return lines;
}

std::unordered_map<std::string, std::string> Options(const char *text, std::size_t size) {
  std::unordered_map<std::string, std::string> options;
  for (const auto &line : Lines(text, size)) {
    const auto equals = line.find('=');
    options.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return options;
}

}  // namespace

extern "C" {

using Receive = void (*)(void *sink, const unsigned char *bytes, std::size_t size);

// Trains on `sentences` with `options` ("name=value"), both as LF-ended lines. Returns 0 and hands the serialised model
// to `receive`, or returns 1 and hands it the reason. `receive` is called exactly once.
int umlaut_train_vocab(const char *options, std::size_t options_size, const char *sentences,
                       std::size_t sentences_size, Receive receive, void *sink) {
  std::string answer;
  int code = 1;
  try {
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        Options(options, options_size), Lines(sentences, sentences_size), &answer);
    if (status.code() == sentencepiece::util::StatusCode::kOk) {
      code = 0;
    } else {
      answer = status.error_message();
    }
  } catch (const std::exception &error) {
    answer = error.what();
  }
  receive(sink, reinterpret_cast<const unsigned char *>(answer.data()), answer.size());
  return code;
}

}  // extern "C"
