#include "grader/judge/situation.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace lockstep::grader {
namespace {

struct Words {
  std::string_view name, sentence;
};

// By the order of the enumeration.
constexpr std::array<Words, situation_count> words{{
    {"not_a_number", "one rank holds a value that is not a number"},
    {"infinity", "one rank holds an infinite value"},
    {"zeros", "one rank holds nothing but zeros, and a result is all zeros"},
    {"negative_zero", "a value is -0"},
    {"subnormal", "a value is smaller than the smallest normal number of its type"},
    {"integer_extremes", "an integer is the smallest or the largest of its type"},
    {"every_dtype", "each element type that may come, two of one width among them"},
    {"shapes", "tensors of 0, 1 and 3 dimensions, and shapes with the same digits"},
    {"negative_loss", "a loss is below zero"},
    {"rank_counts", "1 to 8 and 13 ranks; a pure function also 17, 65 and 300"},
    {"element_counts", "0 elements, 1, a prime number, and a number that does not divide"},
    {"beyond_2_8", "more than 256 of what is counted"},
    {"beyond_2_16", "more than 65,536 of what is counted"},
    {"beyond_2_32", "more than 4,294,967,296 of what is counted"},
    {"cost_at_13_ranks", "time and messages are compared at 13 ranks"},
    {"two_in_flight", "a second call of the same size begins before the first is waited for"},
    {"two_objects", "one rank has two objects of the part"},
    {"same_call_twice", "the same call is made twice"},
    {"calls_in_turns", "a call is made again, after another one"},
    {"after_an_exception", "a call follows one that ended in an exception"},
    {"another_group", "the ranks of the group are not the global ranks"},
    {"order_of_ranks", "another rank goes on first"},
    {"order_of_strands", "another strand goes on first, and another one ends first"},
    {"lost_at_each_request", "a peer is lost at each of the part's requests"},
    {"unchanged_after_a_failure", "what a failed call must not change is compared"},
    {"foreign_exception", "what the part calls throws something that is no std::exception"},
    {"price_at_the_extremes", "cost is compared at the smallest and the largest arguments"},
    {"double_digits", "float64 results are compared to 1e-12"},
    {"rounded_once", "a result that may be rounded once is compared to the bit"},
}};

struct KindBattery {
  std::string_view kind;
  std::vector<Situation> asks;
};

using enum Situation;

const std::vector<KindBattery>& batteries() {
  static const std::vector<KindBattery> all{
      {"function",
       {integer_extremes, rank_counts, element_counts, beyond_2_8, beyond_2_16, beyond_2_32,
        same_call_twice, calls_in_turns, after_an_exception}},
      // Functions of real numbers.
      {"reals",
       {not_a_number, infinity, negative_zero, subnormal, double_digits, integer_extremes,
        rank_counts, element_counts, beyond_2_8, beyond_2_16, beyond_2_32, same_call_twice,
        calls_in_turns, after_an_exception}},
      {"schedules",
       {rank_counts, element_counts, beyond_2_8, cost_at_13_ranks, price_at_the_extremes,
        same_call_twice, calls_in_turns, after_an_exception}},
      {"collective",
       {not_a_number,
        infinity,
        zeros,
        negative_zero,
        subnormal,
        integer_extremes,
        every_dtype,
        rank_counts,
        element_counts,
        beyond_2_16,
        beyond_2_32,
        cost_at_13_ranks,
        same_call_twice,
        after_an_exception,
        another_group,
        order_of_ranks,
        lost_at_each_request,
        unchanged_after_a_failure,
        price_at_the_extremes,
        double_digits}},
      {"lossy",
       {not_a_number, infinity, zeros, negative_zero, subnormal, every_dtype, rank_counts,
        element_counts, beyond_2_16, cost_at_13_ranks, two_in_flight, same_call_twice,
        after_an_exception, another_group, order_of_ranks, lost_at_each_request,
        price_at_the_extremes, double_digits, rounded_once}},
      {"ranks",
       {not_a_number, infinity, zeros, every_dtype, shapes, rank_counts, another_group,
        same_call_twice, lost_at_each_request, double_digits, price_at_the_extremes}},
      {"driven",
       {not_a_number, infinity, zeros, every_dtype, shapes, rank_counts, another_group, two_objects,
        same_call_twice, lost_at_each_request}},
      {"services",
       {not_a_number, infinity, rank_counts, same_call_twice, lost_at_each_request, double_digits}},
  };
  return all;
}

const Words& words_of(Situation situation) { return words.at(static_cast<std::size_t>(situation)); }

}  // namespace

std::string_view name_of(Situation situation) { return words_of(situation).name; }
std::string_view sentence_of(Situation situation) { return words_of(situation).sentence; }

std::optional<Situation> situation_named(std::string_view name) {
  const auto found = std::ranges::find(words, name, &Words::name);
  if (found == words.end()) return std::nullopt;
  return static_cast<Situation>(found - words.begin());
}

std::optional<std::span<const Situation>> battery_of(std::string_view kind) {
  const auto found = std::ranges::find(batteries(), kind, &KindBattery::kind);
  if (found == batteries().end()) return std::nullopt;
  return found->asks;
}

}  // namespace lockstep::grader
