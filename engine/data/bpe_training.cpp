// Learning byte pairs [SHB16]. A text of a million bytes has some ten thousand different pieces, so
// each is kept once, with the number of its occurrences; and a merge changes the counts only where
// it happens, in the pieces that hold the pair.
//
// Invariant: counts_[pair] is the number of places of the text where `pair` stands now, and
// holders_[pair] names at least all pieces that hold it.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/data/byte_pairs.hpp"

namespace lockstep::data {
namespace {

enum class Kind : std::uint8_t { letter, digit, space, sign };

// Not the library's isalpha and its kin: those depend on the locale.
Kind kind_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') return Kind::letter;
  if (byte >= 128) return Kind::letter;
  if (byte >= '0' && byte <= '9') return Kind::digit;
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return Kind::space;
  return Kind::sign;
}

struct TextPiece {
  std::vector<std::int64_t> tokens;
  std::int64_t occurrences = 0;
};

class Learner {
 public:
  explicit Learner(std::string_view text) {
    std::map<std::string_view, std::int64_t> occurrences;  // in a fixed order
    for_each_piece(text, [&](std::string_view piece) { ++occurrences[piece]; });
    for (const auto& [piece, count] : occurrences) {
      TextPiece added{{}, count};
      for (const char byte : piece) added.tokens.push_back(static_cast<unsigned char>(byte));
      pieces_.push_back(std::move(added));
      add_pairs_of(pieces_.size() - 1, 1);
    }
  }

  // The most frequent pair that a token has room for, and its count; count 0 when there is none.
  std::pair<TokenPair, std::int64_t> most_frequent() const {
    std::pair<TokenPair, std::int64_t> best{{}, 0};
    for (const auto& [pair, count] : counts_) {
      if (count < best.second || (count == best.second && best.first < pair)) continue;
      if (length_of(pair) <= token_bytes_max) best = {pair, count};
    }
    return best;
  }

  void merge(TokenPair pair, std::int64_t merged) {
    std::vector<std::size_t> holders = std::move(holders_[pair]);
    std::sort(holders.begin(), holders.end());
    holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
    for (const std::size_t index : holders) {
      add_pairs_of(index, -1);
      merge_pair(pieces_[index].tokens, pair, merged);
      add_pairs_of(index, 1);
    }
    counts_.erase(pair);
    holders_.erase(pair);
    lengths_.push_back(length_of(pair));
  }

 private:
  std::int64_t length_of(TokenPair pair) const {
    return lengths_[static_cast<std::size_t>(pair.left)] +
           lengths_[static_cast<std::size_t>(pair.right)];
  }

  // sign +1: the pairs of the piece have come; -1: they go.
  void add_pairs_of(std::size_t index, int sign) {
    const TextPiece& piece = pieces_[index];
    for (std::size_t i = 0; i + 1 < piece.tokens.size(); ++i) {
      const TokenPair pair{piece.tokens[i], piece.tokens[i + 1]};
      counts_[pair] += sign * piece.occurrences;
      if (sign < 0) continue;
      auto& holders = holders_[pair];
      if (holders.empty() || holders.back() != index) holders.push_back(index);
    }
  }

  std::vector<TextPiece> pieces_;
  std::vector<std::int64_t> lengths_ = std::vector<std::int64_t>(byte_tokens, 1);  // in bytes
  std::unordered_map<TokenPair, std::int64_t, TokenPairHash> counts_;
  std::unordered_map<TokenPair, std::vector<std::size_t>, TokenPairHash> holders_;
};

}  // namespace

std::size_t piece_length(std::string_view text) {
  if (text.empty()) return 0;
  std::size_t at = 0;
  if (text[0] == ' ' && text.size() > 1 && kind_of(text[1]) != Kind::space) at = 1;
  const Kind kind = kind_of(text[at]);
  while (at < text.size() && kind_of(text[at]) == kind) ++at;
  // The last space of a run belongs to the word that follows it.
  if (kind == Kind::space && at < text.size() && at > 1 && text[at - 1] == ' ') --at;
  return at;
}

void merge_pair(std::vector<std::int64_t>& tokens, TokenPair pair, std::int64_t merged) {
  std::size_t to = 0;
  for (std::size_t from = 0; from < tokens.size(); ++to) {
    const bool here =
        from + 1 < tokens.size() && tokens[from] == pair.left && tokens[from + 1] == pair.right;
    tokens[to] = here ? merged : tokens[from];
    from += here ? 2 : 1;
  }
  tokens.resize(to);
}

std::unique_ptr<Tokenizer> train_bpe(std::string_view text, std::int64_t merges) {
  LOCKSTEP_CHECK(merges >= 0 && merges <= merges_max, "train_bpe: ", merges, " merges; 0 to ",
                 merges_max, " can be learnt");
  Learner learner(text);
  std::vector<TokenPair> learnt;
  while (std::cmp_less(learnt.size(), merges)) {
    const auto [pair, count] = learner.most_frequent();
    if (count < 2) break;
    learner.merge(pair, byte_tokens + static_cast<std::int64_t>(learnt.size()));
    learnt.push_back(pair);
  }
  return make_byte_pair_tokenizer(std::move(learnt));
}

}  // namespace lockstep::data
