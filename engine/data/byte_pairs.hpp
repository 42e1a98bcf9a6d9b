// Helpers that learning and applying byte pairs share. Internal to engine/data.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/data/tokenizer.hpp"

namespace lockstep::data {

constexpr std::int64_t byte_tokens = 256;

struct TokenPair {
  std::int64_t left = 0, right = 0;
  auto operator<=>(const TokenPair&) const = default;
};
struct TokenPairHash {
  std::size_t operator()(const TokenPair& pair) const {
    return static_cast<std::size_t>(pair.left) * 0x9E3779B97F4A7C15u ^
           static_cast<std::size_t>(pair.right) * 0xC2B2AE3D27D4EB4Fu;
  }
};

// The length of the piece that `text` begins with; at least 1 unless text is empty.
std::size_t piece_length(std::string_view text);

template <typename Visit>
void for_each_piece(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t length = piece_length(text);
    visit(text.substr(0, length));
    text.remove_prefix(length);
  }
}

// Replaces each occurrence of `pair`, from the left, by `merged`: a a a becomes (aa) a.
void merge_pair(std::vector<std::int64_t>& tokens, TokenPair pair, std::int64_t merged);

// The k-th merge makes token 256 + k out of tokens that were there before it.
std::unique_ptr<Tokenizer> make_byte_pair_tokenizer(std::vector<TokenPair> merges);

}  // namespace lockstep::data
