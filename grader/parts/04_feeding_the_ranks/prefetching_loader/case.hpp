// The case format of prefetching_loader, shared by adapter and exam, and what the adapter asks of
// the judge while it plays: samples, which the judge reads for it, and what the consumer of the
// batches (the trainer) reports, each report lasting as long as the judge says.
#pragma once

#include "engine/data/loader.hpp"
#include "grader/play/part.hpp"
#include "grader/play/served_dataset.hpp"

namespace lockstep::grader {

enum class LoaderStep : std::uint8_t { start, next };

struct LoaderCase {
  data::LoaderOptions options{};
  std::vector<std::vector<std::int64_t>> orders;  // what the sampler says, by epoch
  std::vector<int> epochs;                        // which of them each start is for
  std::vector<LoaderStep> steps;                  // then the loader is destroyed
  // Inputs of a sample: those that are served, again and again. Where memory is counted, batches
  // are so large that the system's count of a process shows them.
  std::int64_t width = 3;
  enum class Damage : std::uint8_t { exception, plain };  // plain: not a std::exception
  Damage damage = Damage::exception;
};

constexpr std::int64_t sample_inputs = 3;        // that are served
constexpr std::size_t samples_asked_max = 4096;  // in one request

// Answered with what the samples hold, or with the reason why they cannot be read, which the
// dataset throws as DamagedSample or as PlainDamage.
struct SamplesCall {
  static constexpr const char* service = "samples";
  std::vector<std::int64_t> indices;
};
struct SamplesAnswer {
  std::string damage{};  // empty: there is none
  SampleValues values{};
};
struct DamagedSample : Error {
  using Error::Error;
};
struct PlainDamage {
  std::string what;
};

// Reports what the consumer of the batches does, and that the sampler is asked. It is answered with
// nothing.
struct TrainerReport {
  static constexpr const char* service = "trainer";
  enum class Kind : std::uint8_t {
    starting,   // is about to start an epoch
    started,    // start() has returned
    got_batch,  // next() has returned one, which is held until the next report
    got_end,    // next() has returned nothing
    caught,     // next() has thrown what the dataset threw
    caught_other,
    sampling,    // the sampler is asked for an order
    destroying,  // is about to destroy the loader
    destroyed,
  };
  Kind kind = Kind::starting;
  DType dtype = DType::float32;  // got_batch: of its inputs
  std::vector<std::int64_t> inputs_shape{}, labels{};
  std::vector<double> inputs{};  // the first three of each sample
  std::int64_t bytes_alive = 0;  // got_batch: of all tensors there are; advice (decision 0055)
  std::string what{};            // caught, caught_other
};

template <typename Archive>
void fields(Archive& archive, LoaderCase& c) {
  auto& [batch_size, last, workers, prefetch, dtype] = c.options;
  archive(batch_size, last, workers, prefetch, dtype, c.orders, c.epochs, c.steps, c.width,
          c.damage);
}
template <typename Archive>
void fields(Archive& archive, SamplesCall& call) {
  archive(call.indices);
}
template <typename Archive>
void fields(Archive& archive, SamplesAnswer& answer) {
  archive(answer.damage, answer.values);
}
template <typename Archive>
void fields(Archive& archive, TrainerReport& report) {
  archive(report.kind, report.dtype, report.inputs_shape, report.labels, report.inputs,
          report.bytes_alive, report.what);
}
inline void check_fields(TrainerReport& report) {
  check_report(report, TrainerReport::Kind::destroyed);
  if (report.labels.size() > samples_asked_max ||
      report.inputs.size() > samples_asked_max * sample_inputs || report.inputs_shape.size() > 8) {
    throw Error("a batch that is larger than any that a sampler asks for");
  }
}

}  // namespace lockstep::grader
