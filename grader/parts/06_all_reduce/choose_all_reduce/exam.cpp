// The exam of choose_all_reduce: the predictions to rounding, and the smallest of them. The judge
// has each algorithm as a table of steps, and tells a wrong number by the usual way to misread the
// table.
#include "grader/parts/06_all_reduce/choose_all_reduce/case.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader::choose_all_reduce {
namespace {

using collectives::AllReduce;

constexpr const char* names[] = {"naive", "ring", "tree", "halving_doubling", "hierarchical"};
constexpr std::size_t algorithms = std::size(names);

// So many steps of so many bytes over a link; `latencies` of them are waited for.
struct Steps {
  double count, latencies, bytes;
  sim::Link link;
};

const sim::Link& link_of(const ChoiceQuestion& q, int reach) {
  return q.ranks == q.ranks_per_node || q.ranks_per_node % reach == 0 ? q.links.within
                                                                      : q.links.between;
}

// Empty where the algorithm cannot run, or has nothing to do.
std::vector<Steps> steps_of(const ChoiceQuestion& q, std::size_t algorithm) {
  const double n = q.ranks, g = q.ranks_per_node, d = static_cast<double>(q.bytes);
  const sim::Link& slow = q.ranks > q.ranks_per_node ? q.links.between : q.links.within;
  const int inner = static_cast<int>(std::bit_floor(static_cast<unsigned>(q.ranks)));
  std::vector<Steps> steps;
  switch (algorithm) {
    case 0:
      return {{n - 1, n - 1, d, slow}};
    case 1:
      return {{2 * (n - 1), 2 * (n - 1), d / n, slow}};
    case 2:
      for (int apart = 1; apart < q.ranks; apart *= 2) {
        steps.push_back({2, 2 * apart > q.ranks ? 1.0 : 2.0, d, link_of(q, 2 * apart)});
      }
      return steps;
    case 3:
      for (int apart = 1; apart < inner; apart *= 2) {
        steps.push_back({2, 2, d * apart / inner, link_of(q, 2 * apart)});
      }
      if (inner < q.ranks) steps.push_back({2, 2, d, slow});
      return steps;
    default:
      return {{2 * (g - 1), 2 * (g - 1), d / g, q.links.within},
              {2 * (n / g - 1), 2 * (n / g - 1), d / n, q.links.between}};
  }
}

bool possible(const ChoiceQuestion& q, std::size_t algorithm) {
  return algorithm + 1 < algorithms || q.ranks > q.ranks_per_node;
}

double seconds_of(const std::vector<Steps>& steps) {
  double sum = 0;
  for (const Steps& s : steps) {
    sum += s.latencies * s.link.latency_s +
           s.count * (s.link.gap_s + s.bytes / s.link.bandwidth_bytes_s);
  }
  return sum;
}

double expected_of(const ChoiceQuestion& q, std::size_t algorithm) {
  if (!possible(q, algorithm)) return std::numeric_limits<double>::infinity();
  return seconds_of(steps_of(q, algorithm));
}

// Up to the rounding of a sum that has a term for each step.
bool same_seconds(double seen, double expected, int ranks) {
  if (!std::isfinite(expected)) return seen == expected;
  return std::fabs(seen - expected) <= (1e-12 + 4e-16 * ranks) * std::fabs(expected);
}

// A way to misread the table, and the seconds that it gives for the steps of an algorithm.
using Misreading =
    Mistake<std::function<double(const ChoiceQuestion&, std::size_t, std::vector<Steps>)>>;

// The same table with something changed in every line.
template <typename Change>
auto with(Change change) {
  return [change](const ChoiceQuestion& q, std::size_t, std::vector<Steps> steps) {
    for (Steps& s : steps) change(q, s);
    return seconds_of(steps);
  };
}

double without_top_level(const ChoiceQuestion&, std::size_t algorithm, std::vector<Steps> steps) {
  if (algorithm == 2 && !steps.empty()) steps.pop_back();
  return seconds_of(steps);
}

// The levels of a tree, and of halving and doubling, over other links.
template <typename Within>
auto with_levels(Within within) {
  return [within](const ChoiceQuestion& q, std::size_t algorithm, std::vector<Steps> steps) {
    const bool folds = algorithm == 3 && !std::has_single_bit(static_cast<unsigned>(q.ranks));
    const std::size_t levels = algorithm == 2 || algorithm == 3 ? steps.size() - folds : 0;
    for (std::size_t level = 0; level < levels; ++level) {
      steps[level].link = within(q, 1 << level) ? q.links.within : q.links.between;
    }
    return seconds_of(steps);
  };
}

double with_the_top_level_free(const ChoiceQuestion& q, std::size_t algorithm,
                               std::vector<Steps> steps) {
  if (algorithm == 2) steps.back().latencies = 1;
  return q.ranks > 1 ? seconds_of(steps) : 0;
}

const std::vector<Misreading>& misreadings() {
  static const std::vector<Misreading> all{
      {{"once", "latency and gap are paid in every step, not once"},
       [](const ChoiceQuestion&, std::size_t, std::vector<Steps> steps) {
         double bytes_s = 0;
         for (const Steps& s : steps) bytes_s += s.count * s.bytes / s.link.bandwidth_bytes_s;
         const auto& link = steps.front().link;
         return bytes_s + link.latency_s + link.gap_s;
       }},
      {{"gap_left_out", "each message occupies its port for a gap in addition to its bytes"},
       with([](const ChoiceQuestion&, Steps& s) { s.link.gap_s = 0; })},
      {{"latency_left_out", "a step ends when the message has arrived, a latency later"},
       with([](const ChoiceQuestion&, Steps& s) { s.link.latency_s = 0; })},
      {{"whole_buffer", "each step sends a part of the buffer, not all of it"},
       with([](const ChoiceQuestion& q, Steps& s) { s.bytes = static_cast<double>(q.bytes); })},
      {{"bits", "the bandwidth is in bytes per second, not in bits"},
       with([](const ChoiceQuestion&, Steps& s) { s.link.bandwidth_bytes_s /= 8; })},
      {{"one_way", "this covers one way; the data is reduced, and then the result is sent back"},
       with([](const ChoiceQuestion&, Steps& s) { s.count /= 2, s.latencies /= 2; })},
      {{"links_within", "ranks of different nodes talk over the link between nodes"},
       with([](const ChoiceQuestion& q, Steps& s) { s.link = q.links.within; })},
      {{"links_between", "ranks that share a node talk over the link within it"},
       with([](const ChoiceQuestion& q, Steps& s) { s.link = q.links.between; })},
      {{"latency_of_the_top_level",
        "on the way down, the topmost level costs no latency if N is not a power of two"},
       with([](const ChoiceQuestion&, Steps& s) { s.latencies = s.count; })},
      {{"one_step_more", "N ranks need N-1 steps, not N"},
       [](const ChoiceQuestion& q, std::size_t, std::vector<Steps> steps) {
         return seconds_of(steps) * q.ranks / (q.ranks - 1.0);
       }},
      {{"levels_rounded_down", "a tree of N ranks has log2 N levels, rounded up"},
       without_top_level},
      {{"not_folded",
        "the ranks beyond the power of two send their data first and get the result last, which "
        "takes two more steps of the whole buffer"},
       [](const ChoiceQuestion&, std::size_t algorithm, std::vector<Steps> steps) {
         if (algorithm == 3) steps.pop_back();
         return seconds_of(steps);
       }},
      {{"all_halves_alike", "the halves get shorter from level to level"},
       [](const ChoiceQuestion& q, std::size_t, std::vector<Steps> steps) {
         for (Steps& s : steps) s.bytes = static_cast<double>(q.bytes) / 2;
         return seconds_of(steps);
       }},
      {{"level_by_distance",
        "a level stays within a node only if 2·apart divides g; otherwise some of its pairs span "
        "two nodes, though they are close"},
       with_levels(
           [](const ChoiceQuestion& q, int apart) { return 2 * apart <= q.ranks_per_node; })},
      {{"level_by_distance",
        "a level stays within a node only if 2·apart divides g, not whenever apart is below g"},
       with_levels([](const ChoiceQuestion& q, int apart) { return apart < q.ranks_per_node; })},
      {{"top_level_free",
        "if N is a power of two, the topmost level costs its latency on the way down, too"},
       with_the_top_level_free},
      {{"overflow",
        "an int holds at most 2,147,483,647 bytes; keep the bytes in int64_t or double"},
       [](const ChoiceQuestion& q, std::size_t, std::vector<Steps> steps) {
         const double kept = static_cast<double>(static_cast<std::int32_t>(q.bytes));
         for (Steps& s : steps) s.bytes *= kept / static_cast<double>(q.bytes);
         return seconds_of(steps);
       }},
      {{"whole_numbers", "a part of the data is rarely a whole number of bytes; divide in double"},
       with([](const ChoiceQuestion&, Steps& s) { s.bytes = std::floor(s.bytes); })},
      {{"shard_crosses_whole",
        "between nodes the shard of D/g is cut once more, to D/N, among the N/g ranks that hold "
        "it"},
       [](const ChoiceQuestion& q, std::size_t algorithm, std::vector<Steps> steps) {
         if (algorithm == 4) steps.back().bytes = static_cast<double>(q.bytes) / q.ranks_per_node;
         return seconds_of(steps);
       }}};
  return all;
}

std::string text_of(const ChoiceQuestion& q) {
  return text(grouped(q.bytes), q.bytes == 1 ? " byte" : " bytes", " on ", q.ranks,
              q.ranks == 1 ? " rank" : " ranks", ", ", q.ranks_per_node, " on each node");
}

// Says what is wrong with a number that no misreading of the table gives.
std::string ratio_sentence(double seen, double expected, const std::vector<Steps>& steps) {
  std::string in_all = "no step at all";
  double count = 0;
  for (const Steps& s : steps) count += s.count;
  if (!steps.empty()) in_all = text(count, count == 1 ? " step" : " steps");
  const double ratio = std::round(seen / expected * 1000) / 1000;
  return text("the prediction is ", ratio, " times the value of the header's table, which has ",
              in_all,
              " in all; compare your number of steps, and the bytes of each step, with its row");
}

Cause cause_of_seconds(std::span<const ChoiceQuestion> asked, std::size_t algorithm, double seen) {
  const ChoiceQuestion& q = asked.back();
  const auto steps = steps_of(q, algorithm);
  if (!possible(q, algorithm)) {
    return {"one_node",
            "all ranks are on one node, where the hierarchical all-reduce cannot run; its time is "
            "infinity"};
  }
  if (q.ranks == 1) return {"one_rank", "a single rank sends no message"};
  const double expected = expected_of(q, algorithm);
  for (const Misreading& misread : misreadings()) {
    const double wrong = misread.gives(q, algorithm, steps);
    if (same_seconds(seen, wrong, q.ranks) && !same_seconds(wrong, expected, q.ranks))
      return misread.cause;
  }
  const auto earlier = earlier_answers(
      asked, [&](const ChoiceQuestion& other) { return expected_of(other, algorithm); });
  return likely_cause(WrongNumber{seen, expected, earlier})
      .value_or(Cause{"seconds", ratio_sentence(seen, expected, steps)});
}

Failure wrong_seconds(std::span<const ChoiceQuestion> asked, std::size_t algorithm, double seen) {
  const ChoiceQuestion& q = asked.back();
  const std::string expected = number(expected_of(q, algorithm));
  return because(cause_of_seconds(asked, algorithm, seen),
                 {.message = text(text_of(q), ": ", names[algorithm], " is predicted to take ",
                                  number(seen), " s where ", expected, " s was expected"),
                  .expected = expected,
                  .seen = number(seen),
                  .where = text(text_of(q), ", ", names[algorithm])});
}

Failure wrong_choice(const ChoiceQuestion& q, const std::string& seen, std::size_t best) {
  return because(
      {"not_the_fastest",
       "the search does not cover all five predictions, or its index is used as an "
       "AllReduce, whose values start at native"},
      {.message = text(text_of(q), ": all predictions are right, but ", seen, " was chosen where ",
                       names[best], " takes the least time, ", number(expected_of(q, best)), " s"),
       .expected = names[best],
       .seen = seen});
}

Failure wrong_of_equals(const ChoiceQuestion& q, std::size_t chosen, std::size_t first) {
  return because({"not_the_first_of_equals",
                  "ties are not broken in the header's order, which makes all ranks choose alike"},
                 {.message = text(text_of(q), ": your predictions for ", names[first], " and ",
                                  names[chosen], " are equal, and the later one was chosen"),
                  .expected = names[first],
                  .seen = names[chosen]});
}

std::optional<Failure> wrong(std::span<const ChoiceQuestion> asked,
                             const collectives::Choice& seen) {
  const ChoiceQuestion& q = asked.back();
  std::size_t best = 0;
  for (std::size_t a = 0; a < algorithms; ++a) {
    const double expected = expected_of(q, a), least = expected_of(q, best);
    if (!same_seconds(seen.seconds[a], expected, q.ranks))
      return wrong_seconds(asked, a, seen.seconds[a]);
    if (expected < least && !same_seconds(expected, least, q.ranks)) best = a;
  }
  const auto chosen = static_cast<std::size_t>(seen.algorithm) - 1;  // native is none of the five
  if (chosen >= algorithms) return wrong_choice(q, "native", best);
  // Equals may differ in their last bits.
  if (chosen != best && !same_seconds(expected_of(q, chosen), expected_of(q, best), q.ranks)) {
    return wrong_choice(q, names[chosen], best);
  }
  for (std::size_t a = 0; a < chosen; ++a) {
    if (seen.seconds[a] <= seen.seconds[chosen]) return wrong_of_equals(q, chosen, a);
  }
  return std::nullopt;
}

const FunctionContract<ChoiceQuestion, collectives::Choice> contract{
    .text_of = text_of,
    .wrong = wrong,
    .sizes = [](const ChoiceQuestion& q) -> Sizes {
      return {q.ranks, {q.bytes}};
    },
    .least_count = 1,
    .situations = [](const ChoiceQuestion&) { return std::vector{Situation::double_digits}; }};

collectives::LinkCosts drawn_links(CaseRunner& runner) {
  const auto part = [&] { return 0.5 + keyed_uniform(runner.draw(), 0); };
  return {{2e-6 * part(), 1e-6 * part(), 200e9 * part()},
          {8e-6 * part(), 2e-6 * part(), 20e9 * part()}};
}

// From one byte to a gradient of a large model, with more digits than a float holds.
constexpr std::int64_t sizes[] = {
    1, 7, 1000, 32 << 10, 1 << 20, (25 << 20) + 1, (std::int64_t{14} << 30) + 1};

std::vector<ChoiceQuestion> clusters(CaseRunner& runner, std::span<const int> nodes,
                                     std::span<const int> ranks_per_node) {
  std::vector<ChoiceQuestion> questions;
  for (const int k : nodes) {
    for (const int g : ranks_per_node) {
      for (const std::int64_t bytes : sizes) {
        questions.push_back({drawn_links(runner), k * g, g, bytes});
      }
    }
  }
  return questions;
}

// Sizes just below and above those where one algorithm overtakes another.
std::vector<ChoiceQuestion> crossings(CaseRunner& runner) {
  std::vector<ChoiceQuestion> questions;
  for (const auto& layout :
       {std::pair{4, 4}, {8, 8}, {7, 7}, {24, 24}, {16, 8}, {64, 8}, {12, 3}}) {
    const collectives::LinkCosts links = drawn_links(runner);
    const auto fastest = [&](std::int64_t bytes) {
      const ChoiceQuestion q{links, layout.first, layout.second, bytes};
      std::size_t best = 0;
      for (std::size_t a = 1; a < algorithms; ++a) {
        if (expected_of(q, a) < expected_of(q, best)) best = a;
      }
      return best;
    };
    for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 34; bytes *= 2) {
      if (fastest(bytes) == fastest(2 * bytes)) continue;
      std::int64_t low = bytes, high = 2 * bytes;
      while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (fastest(middle) == fastest(low) ? low : high) = middle;
      }
      questions.push_back({links, layout.first, layout.second, low});
      questions.push_back({links, layout.first, layout.second, high});
    }
  }
  return questions;
}

// Links on which a part of a step takes no time, or next to none, and as many bytes as there can
// be.
std::vector<ChoiceQuestion> special_links() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const sim::Link usual{2e-6, 1e-6, 200e9};
  std::vector<ChoiceQuestion> questions{
      {{usual, usual}, 24, 4, std::numeric_limits<std::int64_t>::max()}};
  for (const sim::Link& link : {sim::Link{2e-6, 1e-6, infinity}, sim::Link{-0.0, 1e-6, 200e9},
                                sim::Link{0x1p-1060, 1e-6, 200e9}}) {
    questions.push_back({{link, usual}, 8, 4, 1000});
    questions.push_back({{usual, link}, 8, 4, 1000});
  }
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"on one node, steps and bytes of each algorithm are right for any number of ranks",
       [](CaseRunner& runner) {
         constexpr int one[] = {1}, some[] = {8, 2, 4, 16, 3, 24, 100, 1024, 65'537};
         ask(runner, contract, "one node", clusters(runner, one, some));
         ask(runner, contract, "each number of ranks", clusters(runner, one, every_rank_count));
       }},
      {"on several nodes, each step is charged to the link that it uses",
       [](CaseRunner& runner) {
         constexpr int nodes[] = {2, 4, 16, 3, 125}, ranks[] = {8, 4, 2, 1, 6, 3}, one[] = {1};
         ask(runner, contract, "several nodes", clusters(runner, nodes, ranks));
         ask(runner, contract, "a rank on each node", clusters(runner, every_rank_count, one));
         ask(runner, contract, "special links", special_links());
       }},
      {"the fastest algorithm is chosen on both sides of each crossing",
       [](CaseRunner& runner) {
         ask(runner, contract, "around the crossings", crossings(runner));
       }},
      {"a single rank takes no time",
       [](CaseRunner& runner) {
         constexpr int one[] = {1};
         ask(runner, contract, "one rank", clusters(runner, one, one));
       }},
  };
}

}  // namespace lockstep::grader::choose_all_reduce
