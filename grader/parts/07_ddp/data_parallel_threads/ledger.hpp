// The judge as the devices of a process: it counts what is copied between them, runs their clocks,
// and gives a pass the numbers that it needs when its time is over.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "grader/exam/ranks/reported_service.hpp"
#include "grader/parts/07_ddp/data_parallel_threads/oracle.hpp"

namespace lockstep::grader::data_parallel_threads {

// When a device was in a pass, from the beginning of the step on.
struct PassSpan {
  double from_s = 0, to_s = 0;
};

// One pass forward, and back.
struct DevicePass {
  int device = 0;
  std::vector<std::int64_t> samples{};  // of the step; -1: inputs that are none of the batch
  bool has_inputs = true;               // they lie on the device: on device 0, or were copied to it
  bool has_parameters = true;
  PassSpan forward{};
  std::optional<PassSpan> backward{};
};

struct StepSeen {
  bool begun = false;
  double begun_s = 0;
  std::int64_t from_0 = 0, to_0 = 0;  // bytes that were copied from device 0, and to it
  std::int64_t others = 0;            // between two other devices, or within one
  std::vector<DevicePass> passes{};
  std::map<int, std::vector<Bytes>> arrived{};  // by device, what was copied to it
};

class DeviceLedger final : public TypedService<DeviceCall> {
 public:
  explicit DeviceLedger(const std::vector<ThreadsQuestion>& questions);
  // Nothing of a step that was never begun.
  const StepSeen& of(const ThreadsQuestion& question, std::size_t step) const;

 private:
  struct Asked {
    ThreadsQuestion question;
    std::vector<std::vector<Bytes>> rows;  // by step and sample, the inputs as they are given
    std::vector<StepSeen> steps;
  };
  std::optional<Answer> answer(const sim::Actor& who, DeviceCall call, double now) override;
  Answer forward(Asked& asked, StepSeen& seen, const DeviceCall& call, double now) const;
  Answer backward(const Asked& asked, StepSeen& seen, const DeviceCall& call, double now) const;

  std::map<std::uint64_t, Asked> questions_;  // by model_seed
};

}  // namespace lockstep::grader::data_parallel_threads
