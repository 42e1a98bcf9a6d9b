// The judge's side of play/served_dataset.hpp: the samples, and the record of who read which.
#pragma once

#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/play/served_dataset.hpp"

namespace lockstep::grader {

// Samples drawn from a salt, so that nobody can know one who has not read it. Labels can be learnt
// from inputs, and samples differ, so that every mistake in their order or weight shows.
struct HiddenSamples {
  DatasetShape shape;
  std::uint64_t salt = 0;
  Odd odd = Odd::none;  // zeros: of every sample; otherwise one number of the middle one

  double input(std::int64_t sample, std::int64_t i) const;
  std::int64_t label(std::int64_t sample, std::int64_t t) const;
  // The inputs of the samples in the order of `indices`.
  std::vector<double> inputs_of(std::span<const std::int64_t> indices) const;
  std::vector<std::int64_t> labels_of(std::span<const std::int64_t> indices) const;
};
// The situations into which they put a part.
void ask_of(const HiddenSamples& samples, Situations& asked);

// One batch that a rank asked for.
struct DatasetRead {
  int rank = 0;  // in the world
  std::vector<std::int64_t> indices;
};

class DatasetService final : public TypedService<DatasetCall> {
 public:
  explicit DatasetService(HiddenSamples samples) : samples_(std::move(samples)) {}

  // In the order of the requests of each rank; ranks are mixed.
  const std::vector<DatasetRead>& reads() const { return reads_; }
  std::vector<std::vector<std::int64_t>> reads_of(int rank) const;  // batch by batch

 private:
  std::optional<Answer> answer(const sim::Actor& who, DatasetCall call, double now) override;

  HiddenSamples samples_;
  std::vector<DatasetRead> reads_;
  std::size_t served_ = 0;  // samples, so that no player reads for ever
};

}  // namespace lockstep::grader
