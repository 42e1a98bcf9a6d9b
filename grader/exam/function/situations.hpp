// Which situations of its battery a list of questions holds. They are read from the questions
// themselves, so that a case cannot claim one that it does not ask.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/fields.hpp"
#include "grader/judge/situation.hpp"

namespace lockstep::grader {

using SituationSet = std::set<Situation>;

// The ranks that every rule of a pure function is asked with. A byte holds all but the last.
inline constexpr int every_rank_count[] = {1, 2, 3, 4, 5, 6, 7, 8, 13, 17, 65, 300};

// The numbers that a question is large in.
struct Sizes {
  std::int64_t ranks = 0;              // or nodes, workers, stages; 0: it has none
  std::vector<std::int64_t> counts{};  // of samples, elements, bytes, steps, whatever is counted
};

// Notes the special numbers among the fields of a question.
class SpecialNumbers {
 public:
  explicit SpecialNumbers(SituationSet& found) : found_(found) {}

  template <typename... T>
  void operator()(const T&... values) {
    (look(values), ...);
  }

 private:
  template <typename T>
  void look(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) found_.insert(Situation::not_a_number);
      if (std::isinf(value)) found_.insert(Situation::infinity);
      if (value == 0 && std::signbit(value)) found_.insert(Situation::negative_zero);
      if (std::fpclassify(value) == FP_SUBNORMAL) found_.insert(Situation::subnormal);
    } else if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      const bool smallest = std::is_signed_v<T> && value == Limits::min();
      const bool extreme = smallest || value == Limits::max();
      if (sizeof(T) >= 4 && extreme) found_.insert(Situation::integer_extremes);
    } else if constexpr (!std::is_enum_v<T>) {
      fields(*this, const_cast<T&>(value));  // the list is one for all archives
    }
  }
  void look(const std::string&) {}
  template <typename T>
  void look(const std::vector<T>& values) {
    for (const T& value : values) look(value);
  }
  template <typename T, std::size_t n>
  void look(const std::array<T, n>& values) {
    for (const T& value : values) look(value);
  }
  template <typename K, typename V>
  void look(const std::map<K, V>& values) {
    for (const auto& [key, value] : values) (*this)(key, value);
  }
  template <typename T>
  void look(const std::optional<T>& value) {
    if (value) look(*value);
  }

  SituationSet& found_;
};

// Notes what the sizes of a case's questions ask.
//   least   the smallest count that is no refusal: 0 or 1
void note_sizes(const std::vector<Sizes>& all, std::int64_t least, SituationSet& found);

// Notes what the order of a case's questions asks.
//   questions  as bytes
//   refused    by question: 1 if it is to be refused
void note_order(const std::vector<Bytes>& questions, const std::vector<std::uint8_t>& refused,
                SituationSet& found);

// Counts for a number of ranks: `least`, 1, a prime, one that the ranks do not divide, and beyond
// 2^16 and 2^32, as far as `most` allows.
std::vector<std::int64_t> every_count(std::int64_t ranks, std::int64_t least,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max());

}  // namespace lockstep::grader
