// What becomes of a softmax whose keys come in blocks:
//   build/release/bin/merging three      one query and three keys in two blocks, small enough for
//                                        pencil and paper
//   build/release/bin/merging mistakes   32 tokens in four slices: how far right and wrong ways are
//                                        from attention to all keys at once
#include <algorithm>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/sequence/online_softmax.hpp"

using namespace lockstep;
using sequence_parallel::Partial;

namespace {

// The softmax over some scores, and the mean of their values that it gives.
Partial softmax_over(std::span<const double> scores, std::span<const double> values) {
  if (scores.empty()) return {.output = {0}};
  const double most = std::ranges::max(scores);
  double sum = 0, output = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    sum += std::exp(scores[i] - most);
    output += std::exp(scores[i] - most) * values[i];
  }
  return {most + std::log(sum), {output / sum}};
}

using Merge = std::function<void(Partial& into, const Partial& block)>;

// Wrong on purpose: each block counts as much as all before it.
void mean_of_outputs(Partial& into, const Partial& block) {
  into.output[0] = (into.output[0] + block.output[0]) / 2;
}

// Wrong on purpose: what came before is measured by the last block, however small its scores are.
void last_maximum(Partial& into, const Partial& block) {
  const double before = std::exp(into.log_sum - block.log_sum);
  into.output[0] = (before * into.output[0] + block.output[0]) / (before + 1);
  into.log_sum = block.log_sum + std::log(before + 1);
}

void three() {
  const std::vector<double> scores{0, std::log(3), std::log(12)}, values{8, 0, 4};
  const std::span<const double> s(scores), v(values);
  const auto tell = [](const std::string& what, const Partial& partial) {
    std::cout << std::left << std::setw(20) << what << std::right << std::setw(8)
              << std::exp(partial.log_sum) << std::setw(10) << partial.output[0] << "\n";
  };
  Partial first = softmax_over(s.first(2), v.first(2)), mean = first;
  const Partial second = softmax_over(s.last(1), v.last(1));
  std::cout << std::fixed << std::setprecision(1) << "                    sum of exp  output\n";
  tell("keys 0 and 1", first);
  tell("key 2", second);
  mean_of_outputs(mean, second);
  std::cout << "mean of outputs" << std::setw(23) << mean.output[0] << "\n";
  sequence_parallel::merge(first, second);
  tell("merged", first);
  tell("all keys at once", softmax_over(s, v));
}

constexpr std::size_t tokens = 32, slices = 4, slice = tokens / slices;

// A number between -1 and 1 that looks like nothing in particular.
double made_up(std::size_t i) { return std::sin(static_cast<double>(i * i % 1009)); }

// Which keys of a slice a query of another one sees.
using Seen = std::function<std::size_t(std::size_t query, std::size_t first_key)>;
std::size_t by_position(std::size_t query, std::size_t first_key) {
  return query < first_key ? 0 : std::min(slice, query + 1 - first_key);
}
// Wrong on purpose: each slice counts its tokens from 0.
std::size_t by_place_in_slice(std::size_t query, std::size_t /*first_key*/) {
  return query % slice + 1;
}

// Attention of one token, its own slice first, then those that a ring would bring.
double in_blocks(std::size_t query, double scale, const Merge& merge, const Seen& seen) {
  std::vector<double> scores, values;
  for (std::size_t key = 0; key < tokens; ++key) {
    scores.push_back(scale * made_up(tokens * query + key));
    values.push_back(made_up(key + 7));
  }
  const auto block = [&](std::size_t source) {
    const std::size_t first = source * slice, count = seen(query, first);
    return softmax_over(std::span(scores).subspan(first, count),
                        std::span(values).subspan(first, count));
  };
  const std::size_t rank = query / slice;
  Partial all = block(rank);
  for (std::size_t step = 1; step < slices; ++step) {
    const Partial next = block((rank + slices - step) % slices);
    if (std::isfinite(next.log_sum)) merge(all, next);
  }
  return all.output[0];
}

double at_once(std::size_t query, double scale) {
  std::vector<double> scores, values;
  for (std::size_t key = 0; key <= query; ++key) {
    scores.push_back(scale * made_up(tokens * query + key));
    values.push_back(made_up(key + 7));
  }
  return softmax_over(scores, values).output[0];
}

double largest_difference(double scale, const Merge& merge, const Seen& seen) {
  double most = 0;
  for (std::size_t query = 0; query < tokens; ++query) {
    const double off = std::abs(in_blocks(query, scale, merge, seen) - at_once(query, scale));
    if (std::isnan(off)) return off;
    most = std::max(most, off);
  }
  return most;
}

void mistakes() {
  std::cout << std::fixed << std::setprecision(3)
            << "largest difference with   scores to 1   scores to 10,000\n";
  const auto tell = [](const std::string& what, const Merge& merge, const Seen& seen) {
    std::cout << std::left << std::setw(26) << what << std::right << std::setw(11)
              << largest_difference(1, merge, seen) << std::setw(19)
              << largest_difference(1e4, merge, seen) << "\n";
  };
  tell("merge", sequence_parallel::merge, by_position);
  tell("mean of outputs", mean_of_outputs, by_position);
  tell("the last block's maximum", last_maximum, by_position);
  tell("positions in the slice", sequence_parallel::merge, by_place_in_slice);
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string which = count == 2 ? words[1] : "";
    if (which == "three") {
      three();
    } else if (which == "mistakes") {
      mistakes();
    } else {
      throw UsageError("usage: merging three|mistakes");
    }
  } catch (const std::exception& error) {
    std::cerr << "merging: " << error.what() << "\n";
    return 2;
  }
}
