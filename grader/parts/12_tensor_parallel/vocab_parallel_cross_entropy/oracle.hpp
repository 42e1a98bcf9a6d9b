// The losses of a case and their gradients as one device computes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grader/exam/ranks/dealt.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/parts/12_tensor_parallel/vocab_parallel_cross_entropy/case.hpp"

namespace lockstep::grader::vocab_parallel_cross_entropy {

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// The logits of a case.
enum class Logits : std::uint8_t {
  usual,
  in_turn,       // 0, 1, … 7, 0, 1, … on each rank
  low_to_high,   // those of the first rank around -10,000, of the last around 10,000
  high_to_low,   // the other way round
  far_down,      // all around -10,000
  not_a_number,  // one on the last rank that has a token
  infinity,      // the same
  nothing,       // all of one rank are -∞
  zeros,         // of one rank
};
inline constexpr Logits logits_far_apart[] = {Logits::low_to_high, Logits::high_to_low,
                                              Logits::far_down};
// The contents of the columns behind the vocabulary.
enum class Padding : std::uint8_t { numbers, odd };
enum class Labels : std::uint8_t { usual, some_ignored, all_ignored };
enum class Refused : std::uint8_t {
  nothing,
  label_below,     // -1
  label_behind,    // the vocabulary's size, which may be a column of padding
  label_far,       // beyond all columns
  all_ignored,     // the mean of no row
  column_missing,  // logits of a column less on every rank
  column_too_many
};

struct Problem {
  Members members = whole_world(2);
  DType dtype = DType::float64;
  std::int64_t vocabulary = 12;
  std::vector<std::vector<std::int64_t>> shapes{{5}};  // of the labels, by call
  Logits logits = Logits::usual;
  Padding padding = Padding::numbers;
  Labels labels = Labels::usual;
  ops::Reduction reduction = ops::Reduction::mean;
  std::int64_t ignored_label = -100;
  VocabWalk walk = VocabWalk::back;
  Refused refused = Refused::nothing;
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  std::int64_t columns() const { return (vocabulary + ranks() - 1) / ranks(); }  // of a rank
  std::int64_t rows(std::size_t call) const;
  DType loss_dtype() const { return dtype == DType::float64 ? dtype : DType::float32; }
  std::string description() const;
};

struct Call {
  std::vector<double> logits;  // of each row, all ranks' columns, those of padding too
  std::vector<std::int64_t> labels;
  double gradient = 1;
};
Call drawn_call(const Problem& p, std::uint64_t salt, std::size_t number);
VocabCase case_of(const Problem& p, std::uint64_t salt, int rank);

struct Loss {
  double loss = 0;
  std::vector<double> gradient;  // of each row, the vocabulary's columns
};
Loss right_loss(const Problem& p, const Call& call);

// The bounds on the distance of a loss from the right one, and of each element of the gradient.
double tolerance_of(const Problem& p, const Call& call, double loss);
std::vector<double> tolerance_of(const Problem& p, const std::vector<double>& gradient);

// Why a rank may have computed this loss, as far as the two numbers tell.
Cause cause_of_loss(double right, double seen);

// Which element of the whole gradient lies where in a rank's columns.
Dealt deal_of(const Problem& p, std::size_t call);

}  // namespace lockstep::grader::vocab_parallel_cross_entropy
