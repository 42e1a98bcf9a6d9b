// Bytes, byte pairs that were learnt already, and the descriptions of both. Learning is in
// bpe_training.cpp.
#include "engine/data/tokenizer.hpp"

#include <limits>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/error.hpp"
#include "engine/data/byte_pairs.hpp"

namespace lockstep::data {
namespace {

constexpr const char* first_words = "lockstep-tokenizer 1";

std::int64_t token_of(char byte) { return static_cast<unsigned char>(byte); }

[[noreturn]] void refuse_token(std::string_view name, std::int64_t token, std::int64_t vocabulary) {
  throw ContractError(text("decode: token ", token, " of the tokenizer '", name, "', which has ",
                           vocabulary, ", numbered from 0; was the text encoded by another one?"));
}

class ByteTokenizer final : public Tokenizer {
 public:
  std::string_view name() const override { return "bytes"; }
  std::int64_t vocabulary() const override { return byte_tokens; }
  std::string description() const override { return text(first_words, " bytes\n"); }

  std::vector<std::int64_t> encode(std::string_view text) const override {
    std::vector<std::int64_t> tokens;
    tokens.reserve(text.size());
    for (const char byte : text) tokens.push_back(token_of(byte));
    return tokens;
  }

  std::string decode(std::span<const std::int64_t> tokens) const override {
    std::string result;
    result.reserve(tokens.size());
    for (const std::int64_t token : tokens) {
      if (token < 0 || token >= byte_tokens) refuse_token(name(), token, byte_tokens);
      result.push_back(static_cast<char>(token));
    }
    return result;
  }
};

class BytePairTokenizer final : public Tokenizer {
 public:
  explicit BytePairTokenizer(std::vector<TokenPair> merges) : merges_(std::move(merges)) {
    for (std::int64_t byte = 0; byte < byte_tokens; ++byte) {
      bytes_.emplace_back(1, static_cast<char>(byte));
    }
    for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
      const TokenPair& pair = merges_[rank];
      LOCKSTEP_CHECK(ranks_.emplace(pair, static_cast<std::int64_t>(rank)).second,
                     "byte pairs: merge ", rank, " joins ", pair.left, " and ", pair.right,
                     ", as an earlier one does; a pair is merged once");
      bytes_.push_back(bytes_[static_cast<std::size_t>(pair.left)] +
                       bytes_[static_cast<std::size_t>(pair.right)]);
    }
  }

  std::string_view name() const override { return "bpe"; }
  std::int64_t vocabulary() const override { return std::ssize(bytes_); }

  std::string description() const override {
    std::ostringstream out;
    out << first_words << " bpe " << merges_.size() << "\n";
    for (const TokenPair& pair : merges_) out << pair.left << " " << pair.right << "\n";
    return out.str();
  }

  std::vector<std::int64_t> encode(std::string_view text) const override {
    std::vector<std::int64_t> all;
    std::unordered_map<std::string_view, std::vector<std::int64_t>> known;  // pieces come again
    for_each_piece(text, [&](std::string_view piece) {
      const auto [entry, fresh] = known.try_emplace(piece);
      if (fresh) entry->second = encode_piece(piece);
      all.insert(all.end(), entry->second.begin(), entry->second.end());
    });
    return all;
  }

  std::string decode(std::span<const std::int64_t> tokens) const override {
    std::string result;
    for (const std::int64_t token : tokens) {
      if (token < 0 || token >= vocabulary()) refuse_token(name(), token, vocabulary());
      result += bytes_[static_cast<std::size_t>(token)];
    }
    return result;
  }

 private:
  std::vector<std::int64_t> encode_piece(std::string_view piece) const {
    std::vector<std::int64_t> tokens;
    for (const char byte : piece) tokens.push_back(token_of(byte));
    constexpr auto none = std::numeric_limits<std::int64_t>::max();
    while (true) {
      std::int64_t earliest = none;
      for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        const auto rank = ranks_.find({tokens[i], tokens[i + 1]});
        if (rank != ranks_.end() && rank->second < earliest) earliest = rank->second;
      }
      if (earliest == none) return tokens;
      merge_pair(tokens, merges_[static_cast<std::size_t>(earliest)], byte_tokens + earliest);
    }
  }

  std::vector<TokenPair> merges_;  // the k-th makes token 256 + k
  std::unordered_map<TokenPair, std::int64_t, TokenPairHash> ranks_;
  std::vector<std::string> bytes_;  // of each token
};

[[noreturn]] void refuse_line(int line, const std::string& problem) {
  throw Error(text("description of a tokenizer, line ", line, ": ", problem,
                   "; it should be what Tokenizer::description() wrote"));
}

// The part of a description that was read so far.
struct Known {
  std::unordered_set<TokenPair, TokenPairHash> pairs;
  std::vector<std::int64_t> lengths = std::vector<std::int64_t>(byte_tokens, 1);  // of each token
};

// The next merge from its line; it may join only tokens that exist before it, in a way that is new.
TokenPair read_merge(std::istream& in, Known& so_far) {
  const std::int64_t known = std::ssize(so_far.lengths);
  const int line_number = static_cast<int>(known - byte_tokens) + 2;
  std::string line, rest;
  if (!std::getline(in, line)) refuse_line(line_number, "two tokens expected, the text ends");
  std::istringstream words(line);
  TokenPair pair;
  if (!(words >> pair.left >> pair.right) || words >> rest) {
    refuse_line(line_number, "two tokens expected, seen '" + line + "'");
  }
  if (pair.left < 0 || pair.right < 0 || pair.left >= known || pair.right >= known) {
    refuse_line(line_number, text("tokens 0 to ", known - 1, " exist here, seen '", line, "'"));
  }
  if (!so_far.pairs.insert(pair).second) {
    refuse_line(line_number, text("a pair that is not merged yet expected, seen '", line, "'"));
  }
  const std::int64_t length = so_far.lengths[static_cast<std::size_t>(pair.left)] +
                              so_far.lengths[static_cast<std::size_t>(pair.right)];
  if (length > token_bytes_max) {
    refuse_line(line_number, text("a token of at most ", token_bytes_max, " bytes expected, '",
                                  line, "' makes one of ", length));
  }
  so_far.lengths.push_back(length);
  return pair;
}

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

std::unique_ptr<Tokenizer> make_byte_pair_tokenizer(std::vector<TokenPair> merges) {
  return std::make_unique<BytePairTokenizer>(std::move(merges));
}

std::unique_ptr<Tokenizer> read_tokenizer(const std::string& description) {
  std::istringstream in(description);
  std::string head;
  std::getline(in, head);
  if (head == text(first_words, " bytes")) return make_byte_tokenizer();
  std::istringstream words(head);
  std::string title, version, kind, rest;
  std::int64_t count = -1;
  words >> title >> version >> kind >> count;
  if (title + " " + version != first_words || kind != "bpe" || !words || words >> rest ||
      count < 0 || count > merges_max) {
    refuse_line(1,
                text("'", first_words, " bytes' or '", first_words,
                     " bpe' and the number of merges expected, seen '", head.substr(0, 80), "'"));
  }
  std::vector<TokenPair> merges;
  Known so_far;
  while (std::ssize(merges) < count) merges.push_back(read_merge(in, so_far));
  if (std::getline(in, head)) {
    refuse_line(static_cast<int>(count) + 2, "it goes on after the last merge");
  }
  return make_byte_pair_tokenizer(std::move(merges));
}

}  // namespace lockstep::data
