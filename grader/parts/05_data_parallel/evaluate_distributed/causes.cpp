#include "grader/parts/05_data_parallel/evaluate_distributed/causes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::evaluate_distributed {
namespace {

using Problem = EvaluationProblem;
using Numbers = EvaluationNumbers;

// The model's score of each sample.
struct Scores {
  std::vector<double> losses, hits;  // sums over the sample's labels
};

using Indices = std::vector<std::int64_t>;

Indices all_of(std::int64_t samples) {
  Indices all(static_cast<std::size_t>(samples));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Scores score(const HiddenSamples& samples, DType dtype, std::uint64_t model_seed, nn::Mode mode) {
  CpuDevice device;
  MoodyModel model(samples.shape, dtype, device, model_seed);
  model.prepare({.mode = mode});
  const auto [size, inputs, labels, kinds] = samples.shape;
  const auto values = samples.inputs_of(all_of(size));
  const auto right = samples.labels_of(all_of(size));
  Tape tape(GradMode::inference);
  const Tensor logits =
      model.forward(tape, tape.constant(from_values(values, {size, inputs}, dtype, device))).tensor;
  const std::vector<double> flat = as_doubles(dtype, logits.raw_bytes());
  Scores scores;
  for (std::int64_t row = 0; row < size * labels; ++row) {
    const auto of_row = std::span(flat).subspan(static_cast<std::size_t>(row * kinds),
                                                static_cast<std::size_t>(kinds));
    const auto largest = std::max_element(of_row.begin(), of_row.end());
    double sum = 0;
    for (const double logit : of_row) sum += std::exp(logit - *largest);
    const auto label = right[static_cast<std::size_t>(row)];
    if (row % labels == 0) {
      scores.losses.push_back(0);
      scores.hits.push_back(0);
    }
    scores.losses.back() += *largest + std::log(sum) - of_row[static_cast<std::size_t>(label)];
    scores.hits.back() += largest - of_row.begin() == label ? 1 : 0;
  }
  return scores;
}

// The mean over these samples.
Numbers mean_of(const Problem& p, const Scores& scores, const Indices& indices) {
  Numbers sums;
  for (const std::int64_t i : indices) {
    sums.loss += scores.losses[static_cast<std::size_t>(i)];
    sums.accuracy += scores.hits[static_cast<std::size_t>(i)];
  }
  const auto labels = static_cast<double>(std::ssize(indices) * p.labels);
  return {sums.loss / labels, sums.accuracy / labels};
}

// How the samples may be shared among ranks. Padded: the order begins again at its end, until all
// ranks have equally many.
enum class Shares : std::uint8_t { strided, blocks, padded };

Indices share_of(const Problem& p, Shares shares, int rank) {
  const std::int64_t most = (p.samples + p.ranks() - 1) / p.ranks();
  Indices mine;
  for (std::int64_t k = 0; k < most; ++k) {
    const std::int64_t i = shares == Shares::blocks ? rank * most + k : rank + k * p.ranks();
    if (i < p.samples || shares == Shares::padded) mine.push_back(i % p.samples);
  }
  return mine;
}

// The effect of a rank without samples on a mean of means.
enum class Empty : std::uint8_t { left_out, counts_as_zero };

Numbers mean_of_means(const Problem& p, const Scores& scores, Shares shares, Empty empty) {
  Numbers sums;
  int counted = 0;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const Indices mine = share_of(p, shares, rank);
    counted += !mine.empty() || empty == Empty::counts_as_zero ? 1 : 0;
    if (mine.empty()) continue;
    const Numbers mean = mean_of(p, scores, mine);
    sums.loss += mean.loss;
    sums.accuracy += mean.accuracy;
  }
  return {sums.loss / counted, sums.accuracy / counted};
}

// Sums in another order: some 1e-14 in float64. In float32 the engine adds a batch's losses in
// float64, but gives their mean in float32.
double tolerance_of(const Problem& p, double expected) {
  return (p.dtype == DType::float64 ? 1e-12 : 1e-5) * std::max(1.0, std::fabs(expected));
}

bool is_near(const Problem& p, double seen, double expected) {
  const double tolerance = tolerance_of(p, expected);
  return !first_difference({&seen, 1}, {&expected, 1}, {&tolerance, 1});
}

// The accuracy is right: what became of the loss.
Cause cause_of_loss(const Problem& p, const Scores& scores, double seen, double right) {
  for (const Shares shares : {Shares::strided, Shares::blocks}) {
    const double mean = mean_of_means(p, scores, shares, Empty::counts_as_zero).loss;
    const double left_out = mean_of_means(p, scores, shares, Empty::left_out).loss;
    if (is_near(p, seen, mean) || is_near(p, seen, left_out)) {
      return {"mean_of_means",
              "the accuracy is right, but the loss is the mean of the ranks' means: weight each "
              "mean by its labels, and divide the sum once"};
    }
    if (is_near(p, seen, mean * p.ranks() / static_cast<double>(p.samples * p.labels))) {
      return {"batch_means_added",
              "the accuracy is right, but batch losses are means: multiply each by its "
              "batch.labels.numel() to get a sum"};
    }
  }
  if (p.labels > 1 && is_near(p, seen, right / static_cast<double>(p.labels))) {
    return {"weighted_by_samples",
            text("the accuracy is right, but a batch's mean loss is a mean over its labels, ",
                 p.labels, " a sample: multiply it by batch.labels.numel(), not by the samples")};
  }
  if (std::fabs(seen - right) <= 1e-6 * std::fabs(right)) {
    return {"rounded_sums",
            "this is right to seven digits: the sums were added or sent as float32; use double and "
            "DType::float64"};
  }
  return {"other_loss",
          "the accuracy is right; the loss is the sum of all ranks' losses over the number of all "
          "ranks' labels"};
}

// Half of it right: whether one of the two is.
Cause cause_of_half(const Problem& p, const Scores& scores, const Numbers& seen,
                    const Numbers& right) {
  const auto labels = static_cast<double>(p.samples * p.labels);
  if (is_near(p, seen.loss, right.loss * labels) &&
      is_near(p, seen.accuracy, right.accuracy * labels)) {
    return {"sums", "these are the sums; divide them by the number of labels"};
  }
  if (is_near(p, seen.loss, right.loss)) {
    if (is_near(p, seen.accuracy, right.accuracy * 100)) {
      return {"per_cent", "this is a percentage; an accuracy of 100 % is 1"};
    }
    if (p.labels > 1 && is_near(p, seen.accuracy, right.accuracy * static_cast<double>(p.labels))) {
      return {"per_sample",
              text("the hits were divided by the number of samples, but each sample has ",
                   counted(p.labels, "label"))};
    }
    return {"other_accuracy",
            "the loss is right; the accuracy is the sum of all ranks' hits over the number of all "
            "ranks' labels"};
  }
  if (std::fabs(seen.accuracy - right.accuracy) <= 1e-6) {
    return cause_of_loss(p, scores, seen.loss, right.loss);
  }
  if (is_near(p, seen.loss, right.accuracy) && is_near(p, seen.accuracy, right.loss)) {
    return {"exchanged", "loss and accuracy are swapped"};
  }
  return {"other_mean", "the mean does not count every label exactly once"};
}

}  // namespace

Numbers right_numbers(const Problem& p, const HiddenSamples& samples, std::uint64_t model_seed) {
  return mean_of(p, score(samples, p.dtype, model_seed, nn::Mode::evaluation), all_of(p.samples));
}

bool near(const Problem& p, const Numbers& seen, const Numbers& expected) {
  // An accuracy is a ratio of whole numbers: one hit more or less in a million is a mistake.
  return is_near(p, seen.loss, expected.loss) &&
         std::fabs(seen.accuracy - expected.accuracy) <= 1e-12;
}

Cause likely_cause(const Problem& p, const HiddenSamples& samples, std::uint64_t model_seed,
                   int rank, const Numbers& seen) {
  const Scores scores = score(samples, p.dtype, model_seed, nn::Mode::evaluation);
  const auto is = [&](const Numbers& other) { return near(p, seen, other); };
  const auto mean = [&](const Indices& indices) { return mean_of(p, scores, indices); };
  const Numbers right = mean(all_of(p.samples));
  if (auto odd = cause_by_finiteness({&seen.loss, 1}, {&right.loss, 1}, 0)) return *std::move(odd);
  if (!std::isfinite(seen.loss) || !std::isfinite(seen.accuracy)) {
    return {"no_number",
            "this value is not finite: a rank without samples divided by its number of labels, or "
            "uninitialised memory was read"};
  }
  const Scores in_training = score(samples, p.dtype, model_seed, nn::Mode::training);
  if (is(mean_of(p, in_training, all_of(p.samples)))) {
    return {"prepared_for_training",
            "the model was still prepared for training, so dropout was active: call "
            "model.prepare({.mode = nn::Mode::evaluation}) first"};
  }
  for (const Shares shares : {Shares::strided, Shares::blocks}) {
    for (int of = 0; of < p.ranks() && p.ranks() > 1; ++of) {
      const Indices share = share_of(p, shares, of);
      if (share.empty() || !is(mean(share))) continue;
      if (of == rank) return {"own_share", "this is the mean over this rank's own samples"};
      return {"one_share", text("this is the mean over the samples of rank ", of, " alone")};
    }
  }
  Indices padded;
  for (int of = 0; of < p.ranks(); ++of) {
    const Indices share = share_of(p, Shares::padded, of);
    padded.insert(padded.end(), share.begin(), share.end());
  }
  if (is(mean(padded))) {
    return {"counts_padding", text(padded.size(),
                                   " samples were counted: the samples that a sampler repeats as "
                                   "padding must not count twice")};
  }
  for (const Shares shares : {Shares::strided, Shares::blocks}) {
    for (const Empty empty : {Empty::left_out, Empty::counts_as_zero}) {
      if (!is(mean_of_means(p, scores, shares, empty))) continue;
      return {"mean_of_means",
              "this is the mean of the ranks' means, which gives a sample more weight on a rank "
              "with fewer samples; reduce sums, and divide once"};
    }
  }
  const Indices cut = all_of(p.samples / p.ranks() * p.ranks());
  if (!cut.empty() && is(mean(cut))) {
    return {"drops_the_tail", text("the last ", p.samples - std::ssize(cut), " of ", p.samples,
                                   " samples were left out; the ", p.ranks(),
                                   " ranks may have different numbers of samples")};
  }
  for (const std::int64_t left_out : all_of(p.samples > 1 ? p.samples : 0)) {
    Indices others = all_of(p.samples);
    others.erase(others.begin() + left_out);
    if (!is(mean(others))) continue;
    return {"sample_left_out",
            text("sample ", left_out, " of 0 to ", p.samples - 1,
                 " was not counted, and all others were: look at where a rank's loop ends, and "
                 "whether a last batch of one sample is taken")};
  }
  return cause_of_half(p, scores, seen, right);
}

}  // namespace lockstep::grader::evaluate_distributed
