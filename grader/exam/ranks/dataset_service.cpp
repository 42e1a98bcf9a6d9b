#include "grader/exam/ranks/dataset_service.hpp"

#include <numeric>

#include "grader/judge/keyed.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t samples_served_max = 1'000'000;

}  // namespace

std::int64_t HiddenSamples::label(std::int64_t sample, std::int64_t t) const {
  const auto at = static_cast<std::uint64_t>(sample * shape.labels + t);
  return static_cast<std::int64_t>(keyed_bits(salt + 17, at) %
                                   static_cast<std::uint64_t>(shape.classes));
}

double HiddenSamples::input(std::int64_t sample, std::int64_t i) const {
  if (odd == Odd::zeros || (odd != Odd::none && sample == shape.size / 2 && i == 0)) {
    std::vector<double> one(1);
    make_odd(one, odd);
    return one.front();
  }
  const double noise =
      keyed_uniform(salt + 29, static_cast<std::uint64_t>(sample * shape.inputs + i));
  return 3 * noise - 1.5 + (i == label(sample, 0) ? 1.0 : 0.0);
}

std::vector<double> HiddenSamples::inputs_of(std::span<const std::int64_t> indices) const {
  std::vector<double> inputs;
  for (const std::int64_t index : indices) {
    for (std::int64_t i = 0; i < shape.inputs; ++i) inputs.push_back(input(index, i));
  }
  return inputs;
}

std::vector<std::int64_t> HiddenSamples::labels_of(std::span<const std::int64_t> indices) const {
  std::vector<std::int64_t> labels;
  for (const std::int64_t index : indices) {
    for (std::int64_t t = 0; t < shape.labels; ++t) labels.push_back(label(index, t));
  }
  return labels;
}

void ask_of(const HiddenSamples& samples, Situations& asked) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(samples.shape.size));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  ask_of_values(samples.inputs_of(all), asked);
}

std::vector<std::vector<std::int64_t>> DatasetService::reads_of(int rank) const {
  std::vector<std::vector<std::int64_t>> batches;
  for (const DatasetRead& read : reads_) {
    if (read.rank == rank) batches.push_back(read.indices);
  }
  return batches;
}

std::optional<sim::Service::Answer> DatasetService::answer(const sim::Actor& who, DatasetCall call,
                                                           double now) {
  for (const std::int64_t index : call.indices) {
    if (index < 0 || index >= samples_.shape.size) throw Error(text("there is no sample ", index));
  }
  served_ += call.indices.size();
  if (served_ > samples_served_max) throw Error("the part asked for too many samples");
  const SampleValues values{samples_.inputs_of(call.indices), samples_.labels_of(call.indices)};
  reads_.push_back({who.rank, std::move(call.indices)});
  return answer_with(values, now);
}

}  // namespace lockstep::grader
