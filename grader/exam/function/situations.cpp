#include "grader/exam/function/situations.hpp"

namespace lockstep::grader {
namespace {

bool is_prime(std::int64_t number) {
  for (std::int64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 2;
}

}  // namespace

void note_sizes(const std::vector<Sizes>& all, std::int64_t least, SituationSet& found) {
  std::set<std::int64_t> ranks;
  bool has_least = false, has_one = false, has_prime = false, has_rest = false;
  for (const Sizes& one : all) {
    ranks.insert(one.ranks);
    std::vector<std::int64_t> large = one.counts;
    large.push_back(one.ranks);
    const std::int64_t largest = std::ranges::max(large);
    if (largest > std::int64_t{1} << 8) found.insert(Situation::beyond_2_8);
    if (largest > std::int64_t{1} << 16) found.insert(Situation::beyond_2_16);
    if (largest > std::int64_t{1} << 32) found.insert(Situation::beyond_2_32);
    for (const std::int64_t count : one.counts) {
      has_least = has_least || count == least;
      has_one = has_one || count == 1;
      has_prime = has_prime || (count < 1 << 20 && is_prime(count));
      has_rest = has_rest || one.ranks == 0 || (one.ranks > 1 && count % one.ranks != 0);
    }
  }
  const auto is_asked = [&](int count) { return ranks.contains(count); };
  if (std::ranges::all_of(every_rank_count, is_asked)) found.insert(Situation::rank_counts);
  if (has_least && has_one && has_prime && has_rest) found.insert(Situation::element_counts);
}

void note_order(const std::vector<Bytes>& questions, const std::vector<std::uint8_t>& refused,
                SituationSet& found) {
  for (std::size_t i = 1; i < questions.size(); ++i) {
    if (refused[i]) continue;
    if (refused[i - 1]) found.insert(Situation::after_an_exception);
    if (questions[i] == questions[i - 1]) {
      found.insert(Situation::same_call_twice);
    } else if (std::find(questions.begin(), questions.begin() + static_cast<std::ptrdiff_t>(i),
                         questions[i]) != questions.begin() + static_cast<std::ptrdiff_t>(i)) {
      found.insert(Situation::calls_in_turns);
    }
  }
}

std::vector<std::int64_t> every_count(std::int64_t ranks, std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (const std::int64_t count :
       {least, std::int64_t{1}, std::int64_t{7}, 3 * ranks, 3 * ranks + 1, 4 * ranks - 1,
        (std::int64_t{1} << 16) + ranks + 1, (std::int64_t{1} << 32) + ranks + 1}) {
    if (count >= least && count <= most) counts.push_back(count);
  }
  return counts;
}

}  // namespace lockstep::grader
