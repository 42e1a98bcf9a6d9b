#include "grader/exam/ranks/attention_service.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/tensor/symbolic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

constexpr std::int64_t size_max = 1 << 14;
constexpr double seconds_max = 1;  // of a rank; a case has some 0.001

Numbers numbers_in(const AttentionShape& shape, const Bytes& bytes) {
  std::int64_t count = 1;
  if (shape.size() != 3) throw MalformedMessage("no shape of attention");
  for (const std::int64_t size : shape) {
    if (size < 0 || size > size_max) throw MalformedMessage("no shape of attention");
    count *= size;
  }
  Numbers all = as_doubles(DType::float64, bytes);
  if (std::ssize(all) != count) throw MalformedMessage("numbers of another shape");
  return all;
}

struct Rows {
  const Numbers& queries;
  const Numbers& keys_values;
  std::int64_t tokens, keys, width, heads;  // of a sample
};

// Adds the output of a query and head, and returns its log-sum.
double attend(const Rows& all, std::int64_t sample, std::int64_t query, std::int64_t head,
              std::int64_t seen, double* output) {
  const std::int64_t size = all.width / all.heads;
  const double* const q =
      all.queries.data() + (sample * all.tokens + query) * all.width + head * size;
  const double* const first =
      all.keys_values.data() + sample * all.keys * 2 * all.width + head * size;
  Numbers scores;
  for (std::int64_t key = 0; key < seen; ++key) {
    double score = 0;
    for (std::int64_t d = 0; d < size; ++d) score += q[d] * first[key * 2 * all.width + d];
    scores.push_back(score / std::sqrt(static_cast<double>(size)));
  }
  if (scores.empty()) return -std::numeric_limits<double>::infinity();
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (std::int64_t key = 0; key < seen; ++key) {
    for (std::int64_t d = 0; d < size; ++d) {
      output[d] += scores[at(key)] / sum * first[(key * 2 + 1) * all.width + d];
    }
  }
  return most + std::log(sum);
}

}  // namespace

double attention_s(const AttentionShape& queries, const AttentionShape& keys_values,
                   const ops::AttentionOptions& options) {
  SymbolicDevice sizes;
  const auto of_shape = [&](const AttentionShape& shape) {
    return empty({shape.at(0), shape.at(1), shape.at(2)}, DType::float64, sizes);
  };
  ops::attention(of_shape(queries), of_shape(keys_values), options);
  return sizes.flops() * 1e-9;
}

AttentionService::AttentionService(Members members, std::int64_t width, Numbers sent,
                                   Numbers attended)
    : members_(std::move(members)),
      width_(static_cast<std::size_t>(width)),
      sent_(std::move(sent)),
      attended_(std::move(attended)),
      computed_s_(members_.ranks.size()) {
  for (std::size_t e = 0; e < sent_.size(); ++e) {
    if (e / width_ % 3 == 1) place_of_[sent_[e]] = e;
  }
}

void AttentionService::unseal(Numbers& keys_values, std::size_t columns) const {
  for (std::size_t row = 0; row < keys_values.size(); row += 2 * columns) {
    const auto found = place_of_.find(keys_values[row]);
    if (found == place_of_.end()) continue;
    const std::size_t first = found->second;
    bool same = first % width_ + columns <= width_;
    for (std::size_t c = 0; same && c < columns; ++c) {
      same = keys_values[row + c] == sent_[first + c] &&
             keys_values[row + columns + c] == sent_[first + width_ + c];
    }
    for (std::size_t c = 0; same && c < columns; ++c) {
      keys_values[row + columns + c] = attended_[first + width_ + c];
    }
  }
}

std::optional<sim::Service::Answer> AttentionService::answer(const sim::Actor& who,
                                                             AttentionCall call, double now) {
  const Numbers queries = numbers_in(call.queries_shape, call.queries);
  Numbers keys_values = numbers_in(call.keys_values_shape, call.keys_values);
  // Refuses what fits nothing.
  const ops::AttentionOptions of{call.heads, call.of_queries, call.of_keys};
  const double seconds = attention_s(call.queries_shape, call.keys_values_shape, of);
  double& computed_s = computed_s_.at(at(members_.group_rank(who.rank)));
  if (computed_s += seconds; computed_s > seconds_max) throw Error("a rank attends for ever");

  const Rows rows{queries,
                  keys_values,
                  call.queries_shape[1],
                  call.keys_values_shape[1],
                  call.queries_shape[2],
                  call.heads};
  if (!keys_values.empty()) unseal(keys_values, at(rows.width));
  Numbers output(queries.size()), log_sums;
  for (std::int64_t sample = 0; sample < call.queries_shape[0]; ++sample) {
    for (std::int64_t head = 0; head < rows.heads; ++head) {
      for (std::int64_t query = 0; query < rows.tokens; ++query) {
        const std::int64_t seen = of.keys.before(of.queries.of(query) + 1);
        const std::int64_t place =
            (sample * rows.tokens + query) * rows.width + head * (rows.width / rows.heads);
        log_sums.push_back(attend(rows, sample, query, head, seen, output.data() + place));
      }
    }
  }
  return answer_with(
      AttentionAnswer{to_bytes(DType::float64, output), to_bytes(DType::float64, log_sums)},
      now + seconds);
}

}  // namespace lockstep::grader
