// The services of the judge for a loader: samples, read in as much virtual time as the judge likes,
// so that later batches may be there first; and a trainer, each of whose reports lasts. Both write
// one log, in the order of virtual time: the evidence of what was read when, and who had what.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/parts/04_feeding_the_ranks/prefetching_loader/case.hpp"

namespace lockstep::grader::prefetching_loader {

struct LoaderEvent {
  double at_s = 0, until_s = 0;
  int strand = 0;                                 // that asked: 0 made the loader
  std::optional<std::vector<std::int64_t>> read;  // the indices, or
  TrainerReport report;                           // what the trainer said
  std::optional<std::int64_t> memory_bytes{};     // of the player, when it said that it got a batch
};
using LoaderLog = std::vector<LoaderEvent>;

// The trainer reported what the case's steps make, in their order, and the end of the loader; how
// often the sampler was asked is the part's own affair.
//   Throws  MalformedMessage otherwise
void require_reports(const LoaderCase& c, const LoaderLog& log);

enum class SampleDigits : std::uint8_t { few, of_float64 };  // few: exact in every float

// The contents of samples. They are drawn from the salt, so only a read reveals them.
struct Samples {
  std::uint64_t salt = 0;
  std::set<std::int64_t> damaged{};
  SampleDigits digits = SampleDigits::few;
  Odd odd = Odd::none;  // in the middle of each sample

  double input(std::int64_t sample, std::int64_t i) const;
  std::vector<double> inputs_of(std::int64_t sample) const;
  std::int64_t label(std::int64_t sample) const;
  // Why a batch cannot be read, or nothing.
  std::string damage_of(std::span<const std::int64_t> indices) const;
};

class SamplesService final : public TypedService<SamplesCall> {
 public:
  // Reading a batch that begins with sample i takes read_s(i).
  SamplesService(Samples samples, std::function<double(std::int64_t)> read_s, LoaderLog& log)
      : samples_(std::move(samples)), read_s_(std::move(read_s)), log_(log) {}

 private:
  std::optional<Answer> answer(const sim::Actor& who, SamplesCall call, double now) override;

  Samples samples_;
  std::function<double(std::int64_t)> read_s_;
  LoaderLog& log_;
};

class TrainerService final : public TypedService<TrainerReport> {
 public:
  // started, got_batch and what was caught last `hold_s`; everything else no time.
  //   memory_of  what the player of a rank holds; asked while it stands still
  TrainerService(double hold_s, std::function<std::optional<std::int64_t>(int)> memory_of,
                 LoaderLog& log)
      : hold_s_(hold_s), memory_of_(std::move(memory_of)), log_(log) {}

 private:
  std::optional<Answer> answer(const sim::Actor& who, TrainerReport report, double now) override;

  double hold_s_;
  std::function<std::optional<std::int64_t>(int)> memory_of_;
  LoaderLog& log_;
};

}  // namespace lockstep::grader::prefetching_loader
