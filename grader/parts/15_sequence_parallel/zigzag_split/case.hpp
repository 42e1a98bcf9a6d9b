// The case format of zigzag_split, shared by adapter and exam: questions to either of its
// functions.
#pragma once

#include <cstdint>

#include "engine/parallel/sequence/zigzag_split.hpp"
#include "grader/play/token_positions.hpp"

namespace lockstep::sequence_parallel {

template <typename Archive>
void fields(Archive& archive, TokenPlace& place) {
  archive(place.rank, place.index);
}

}  // namespace lockstep::sequence_parallel

namespace lockstep::grader {

enum class ZigzagAsked : std::uint8_t { slice, place };

struct ZigzagQuestion {
  ZigzagAsked asked = ZigzagAsked::slice;
  std::int64_t length = 2;
  int ranks = 1;
  int rank = 0;               // whose slice
  std::int64_t position = 0;  // whose place
};
struct ZigzagAnswer {
  Positions slice{};
  sequence_parallel::TokenPlace place{};
};

template <typename Archive>
void fields(Archive& archive, ZigzagQuestion& question) {
  archive(question.asked, question.length, question.ranks, question.rank, question.position);
}
template <typename Archive>
void fields(Archive& archive, ZigzagAnswer& answer) {
  archive(answer.slice, answer.place);
}

}  // namespace lockstep::grader
