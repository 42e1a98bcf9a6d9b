// The problems of ring_attention's exam: samples, who has which of their tokens, and what one
// device makes of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grader/exam/function/dense_attention.hpp"
#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/exam/ranks/slices.hpp"
#include "grader/parts/15_sequence_parallel/ring_attention/case.hpp"

namespace lockstep::grader::ring_attention {

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// The argument that does not fit, in a case that the part must refuse.
enum class Misfit : std::uint8_t {
  nothing,
  fewer_positions,  // those of one rank are missing
  other_positions,  // a rank has a token more than positions
  narrow_values,    // keys and values are not twice as wide as queries
  heads,            // they do not divide the width
  other_batch,      // queries of other samples than keys and values
  no_token,         // a rank has none
};

struct Problem {
  Members members = whole_world(2);
  DType dtype = DType::float64;
  Cut cut = Cut::equal;
  std::int64_t batch = 2, tokens = 7, heads = 2, head_size = 3;
  double reach = 1;  // queries and keys are up to so much
  Odd odd = Odd::none;
  enum class Where : std::uint8_t { queries, values } odd_in = Where::values;
  int calls = 1;
  bool hands_over = false;
  bool timed = false;       // the judge computes: RingCase::asks
  std::int64_t filler = 1;  // elements of the width that hold one number
  Misfit misfit = Misfit::nothing;
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  std::int64_t width() const { return heads * head_size; }  // numbers
  AttentionSizes sizes() const { return {batch, tokens, heads, head_size}; }
  std::vector<Positions> slices() const { return slices_of(cut, tokens, ranks()); }
  std::string description() const;
};

// The numbers of a call's queries, keys and values [B, S, 3·C], as they are after rounding to the
// type.
Numbers drawn_qkv(const Problem& p, std::uint64_t salt, int call);
// The same with the values that attention goes to: where the judge computes, others than those.
Numbers attended_qkv(const Problem& p, std::uint64_t salt, int call);
RingCase case_of(const Problem& p, std::uint64_t salt, int rank);

struct Attended {
  Numbers output{}, log_sums{};  // [B, S, C], [B, H, S]
};
Attended right_of(const Problem& p, const Numbers& qkv);

}  // namespace lockstep::grader::ring_attention
