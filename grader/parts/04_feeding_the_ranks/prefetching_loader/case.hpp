// The case format of prefetching_loader, shared by adapter and exam, and what the adapter asks of
// the judge while it plays: samples, which the judge reads for it, and what the consumer of the
// batches (the trainer) reports, each report lasting as long as the judge says.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/data/loader.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class LoaderStep : std::uint8_t { start, next };

struct LoaderCase {
  data::LoaderOptions options;
  std::vector<std::vector<std::int64_t>> orders;  // what the sampler says, by epoch
  std::vector<int> epochs;                        // which of them each start is for
  std::vector<LoaderStep> steps;                  // then the loader is destroyed
};

inline Bytes encode(const LoaderCase& c) {
  ByteWriter out;
  out.put(c.options.batch_size).put(c.options.last).put(c.options.workers);
  out.put(c.options.prefetch).put(c.options.dtype);
  out.put(static_cast<std::uint32_t>(c.orders.size()));
  for (const auto& order : c.orders) out.put_list(std::span<const std::int64_t>(order));
  out.put_list(std::span<const int>(c.epochs));
  out.put_list(std::span<const LoaderStep>(c.steps));
  return out.take();
}

inline LoaderCase decode_loader_case(ByteReader& in) {
  LoaderCase c;
  c.options.batch_size = in.get<std::int64_t>();
  c.options.last = in.get<data::LastBatch>();
  c.options.workers = in.get<int>();
  c.options.prefetch = in.get<int>();
  c.options.dtype = in.get<DType>();
  c.orders.resize(in.get<std::uint32_t>());
  for (auto& order : c.orders) order = in.get_list<std::int64_t>();
  c.epochs = in.get_list<int>();
  c.steps = in.get_list<LoaderStep>();
  return c;
}

// The service "samples": asked for a list of indices. Answers with what the samples hold, or with
// the reason why they cannot be read, which the dataset throws as DamagedSample.
inline constexpr const char* samples_service = "samples";
constexpr std::int64_t sample_inputs = 3;
struct DamagedSample : Error {
  using Error::Error;
};
enum class SamplesAnswer : std::uint8_t { good, damaged };  // then inputs and labels, or a text

constexpr std::size_t samples_asked_max = 4096;  // in one request

// The service "trainer": told what the consumer of the batches does, and that the sampler is asked.
inline constexpr const char* trainer_service = "trainer";
struct TrainerReport {
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
  std::vector<double> inputs{};
  std::int64_t bytes_alive = 0;  // got_batch: of all tensors there are
  std::string what{};            // caught, caught_other
};

inline Bytes encode(const TrainerReport& report) {
  ByteWriter out;
  out.put_text(report.what).put(report.kind).put(report.dtype).put(report.bytes_alive);
  out.put_list(std::span<const std::int64_t>(report.inputs_shape));
  out.put_list(std::span<const std::int64_t>(report.labels));
  out.put_list(std::span<const double>(report.inputs));
  return out.take();
}

inline TrainerReport decode_trainer_report(ByteReader& in) {
  TrainerReport report;
  report.what = in.get_text();
  report.kind = in.get<TrainerReport::Kind>();
  report.dtype = in.get<DType>();
  report.bytes_alive = in.get<std::int64_t>();
  report.inputs_shape = in.get_list<std::int64_t>();
  report.labels = in.get_list<std::int64_t>();
  report.inputs = in.get_list<double>();
  if (report.kind > TrainerReport::Kind::destroyed) throw MalformedMessage("no kind of report");
  return report;
}

}  // namespace lockstep::grader
