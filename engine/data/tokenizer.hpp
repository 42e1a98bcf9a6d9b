// Tokenizers: text to numbers and back. A model sees tokens only, so a checkpoint of a language
// model is worth nothing without its tokenizer; hence one can be written down and read again.
// Text is bytes here. Every byte string is encoded, and decode gives it back unchanged, whether it
// is UTF-8 or not. Byte b is token b in all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

// Thread: all functions are const and may be called by several strands at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::string_view name() const = 0;    // "bytes", "bpe"
  virtual std::int64_t vocabulary() const = 0;  // tokens lie in [0, vocabulary)
  virtual std::string description() const = 0;  // what read_tokenizer reads
  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
  // Throws ContractError on a token outside [0, vocabulary).
  virtual std::string decode(std::span<const std::int64_t> tokens) const = 0;
};

// Every byte is a token: vocabulary 256.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

// Byte-pair encoding, learnt from `text`: starting from single bytes, the pair of neighbouring
// tokens that occurs most often becomes a new token, `merges` times. Ties go to the pair whose left
// token is smaller, then the right one: the same text gives the same tokenizer everywhere.
// Text is cut into pieces first, and no token reaches over a cut: a piece is a run of letters (or
// bytes from 128 on), of digits, of other signs, each with the space before it, or of white space.
// encode applies the merges in the order in which they were learnt, within each piece.
//   Ensures   a pair that occurs once is not merged, nor one of more than token_bytes_max bytes: a
//             short text may give fewer merges
//   Requires  0 <= merges <= merges_max
//   Cost      a merge looks at each kind of pair once and at the pieces that hold the chosen one;
//             a megabyte of English and 1,000 merges take some tenths of a second
//   Source    [SHB16] §3.2 (pieces there are words); bytes instead of characters: [RWC19] §2.2
constexpr std::int64_t merges_max = 100'000;
constexpr std::int64_t token_bytes_max =
    1024;  // merges may double a token; so 100 MB hold them all
std::unique_ptr<Tokenizer> train_bpe(std::string_view text, std::int64_t merges);

// A tokenizer from its description:
//     lockstep-tokenizer 1 bytes
// or, for n merges, each the two tokens that become token 256, 257, …:
//     lockstep-tokenizer 1 bpe n
//     101 32
//     …
//   Throws  Error that names the line when the text is no such description, when a merge is there
//           twice, or when it makes a token of more than token_bytes_max bytes
std::unique_ptr<Tokenizer> read_tokenizer(const std::string& description);

}  // namespace lockstep::data
