// The gradient of a case in its pieces, its norm, and the norms and factors that usual mistakes
// give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/parts/11_sharding/clip_global_norm/case.hpp"

namespace lockstep::grader::clip_global_norm {

// Which tensors a rank has: those that it counts alone are of another size on every rank.
struct Layout {
  std::vector<std::int64_t> own{5, 12, 1, 30};  // elements, of rank 0; below 0: undefined
  std::vector<std::int64_t> shared{};           // the k-th is counted by rank k mod N, held by all
};

struct Problem {
  Members members;
  int columns = 0;  // as ClipCase
  Layout layout{};
  DType dtype = DType::float64;
  std::optional<DType> copies{};    // their type, where it is another
  std::vector<double> bounds{0.4};  // max_norm of each call, by the norm where that is a number
  double scale = 1;                 // of all elements
  Odd odd = Odd::none;              // in what the last rank counts
  std::uint64_t schedule_seed = 0;

  int size() const { return members.size(); }
  DType dtype_of_copies() const { return copies.value_or(dtype); }
  std::string description() const;
  // The ranks with which this one is in a group, by the place of the group in its list.
  std::vector<int> peers(int rank, int group) const;
};

using Elements = std::vector<std::vector<double>>;  // of each tensor that is there

// One call on all ranks.
struct Call {
  std::vector<Elements> counted, copies;  // by rank
  double norm = 0, max_norm = 0, factor = 1;

  std::vector<double> squares() const;  // of what each rank counts
};
Call drawn_call(const Problem& p, std::uint64_t salt, std::size_t number);

ClipCase case_of(const Problem& p, std::uint64_t salt, int rank);

// Why `rank` may have returned this norm.
Cause cause_of_norm(const Problem& p, const Call& call, int rank, double seen);

enum class List : std::uint8_t { counted, copies };
// Why the tensors of a list of `rank` may be `seen`, where the norm is right.
Cause cause_of_values(const Call& call, int rank, List list, const Elements& seen);

}  // namespace lockstep::grader::clip_global_norm
