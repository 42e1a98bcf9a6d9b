// Functions that paper has and CUDA has not: settings, findings and counters for tests and for
// --paper, and the door through which other libraries of paper put their work into streams.
#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "engine/paper/cudart/call.hpp"
#include "engine/paper/cudart/report.hpp"
#include "engine/paper/order/library.hpp"

using namespace lockstep::paper;

namespace {

class MemoryOfOperation final : public LibraryMemory {
 public:
  MemoryOfOperation(Runtime& state, GpuDevice& device, Operation operation)
      : state_(state), device_(device), operation_(operation) {}

  bool touch(Touch touch, std::uint64_t address, std::size_t bytes) override {
    if (device_.memory.touch_range(touch, address, bytes, operation_,
                                   state_.timeline().name_of(operation_))) {
      return true;
    }
    state_.fail(device_, cudaErrorIllegalAddress);
    return false;
  }

  std::byte* at(std::uint64_t address) override {
    return device_.memory.holds(address) ? device_.memory.alias(address)
                                         : reinterpret_cast<std::byte*>(address);
  }

 private:
  Runtime& state_;
  GpuDevice& device_;
  Operation operation_;
};

}  // namespace

extern "C" {

// Sets one of the settings (engine/paper/settings.hpp). Returns 0, or 1: no such setting or value,
// or it is too late for it, as the device has been made.
int paperConfigure(const char* key, const char* value) {
  Runtime* const state = runtime();
  if (state == nullptr) return 1;
  const std::scoped_lock lock(state->mutex());
  return state->configure(key, value) ? 0 : 1;
}

// All findings so far, a line each; empty where there is none. Valid until the next call.
const char* paperFindings() {
  Runtime* const state = runtime();
  if (state == nullptr) return "";
  const std::scoped_lock lock(state->mutex());
  return (state->told = state->findings().report()).c_str();
}

// Which function was called where a fault of the settings has struck; empty where none has since it
// was set. Valid until the next call.
const char* paperStruck() {
  Runtime* const state = runtime();
  if (state == nullptr) return "";
  const std::scoped_lock lock(state->mutex());
  return (state->told = state->struck()).c_str();
}

// How many chances a fault of the settings ("skip_wait") has had since it was set, or since the
// start.
std::uint64_t paperChances(const char* setting) {
  Runtime* const state = runtime();
  if (state == nullptr) return 0;
  const std::scoped_lock lock(state->mutex());
  return state->chances(setting);
}

// Forgets the findings: a test goes on to its next case.
void paperClear() {
  Runtime* const state = runtime();
  if (state == nullptr) return;
  const std::scoped_lock lock(state->mutex());
  state->findings().clear();
  state->printed = 0;
}

// Counts of what the kernels of all devices did, a line per kernel, those with most instructions
// first. All but launches and instructions are 0 without the setting `counters`. Valid until the
// next call.
const char* paperCounters() {
  Runtime* const state = runtime();
  if (state == nullptr || !state->has_devices()) return "";
  const std::scoped_lock lock(state->mutex());
  return (state->told = counters_table(state->kernel_counters())).c_str();
}

// The same by lines of the source (report.hpp says how it reads); empty without the setting
// `counters`. Valid until the next call.
const char* paperLines() {
  Runtime* const state = runtime();
  if (state == nullptr || !state->has_devices()) return "";
  const std::scoped_lock lock(state->mutex());
  return (state->told = lines_table(state->kernel_counters(), state->lines_of_kernels())).c_str();
}

// The operations carried out since the setting `history` was made, a line per operation, in the
// order in which they ended: when the host asked for it, when it began and ended (seconds of the
// machine's steady clock), the number of its stream, its name. Valid until the next call.
const char* paperHistory() {
  Runtime* const state = runtime();
  if (state == nullptr) return "";
  const std::scoped_lock lock(state->mutex());
  state->told.clear();
  for (const Carried& carried : state->schedule().history()) {
    const StreamTimeline& timeline = state->timeline();
    std::array<char, 128> times{};
    std::snprintf(times.data(), times.size(), "%.9f %.9f %.9f %u ", carried.asked_s,
                  carried.began_s, carried.ended_s, timeline.track_of(carried.operation));
    state->told += times.data() + timeline.name_of(carried.operation) + "\n";
  }
  return state->told.c_str();
}

Submitted paperSubmit(void* stream, const char* name, LibraryWork* work) {
  const cudaError_t error = call(name, [&](Runtime& state) {
    const Runtime::Queue queue = state.queue_of_launch(static_cast<cudaStream_t>(stream));
    state.enqueue(queue, name,
                  [&state, &device = queue.device, work = std::move(*work)](Operation operation) {
                    MemoryOfOperation memory(state, device, operation);
                    work(memory);
                  });
    return cudaSuccess;
  });
  if (error == cudaSuccess) return Submitted::fine;
  return error == cudaErrorInvalidResourceHandle ? Submitted::bad_stream : Submitted::failed;
}

Submitted paperSubmitSteps(void* stream, const char* name, LibrarySteps* given) {
  const std::shared_ptr<LibrarySteps> steps(given);
  const cudaError_t error = call(name, [&](Runtime& state) {
    const Runtime::Queue queue = state.queue_of_launch(static_cast<cudaStream_t>(stream));
    if (state.strikes(Runtime::Chance::collective)) steps->spoil();
    state.enqueue_steps(
        queue, name,
        [&state, &device = queue.device, steps](Operation operation) {
          MemoryOfOperation memory(state, device, operation);
          return steps->step(memory);
        },
        [steps] { return steps->wanted(); });
    return cudaSuccess;
  });
  if (error == cudaSuccess) return Submitted::fine;
  return error == cudaErrorInvalidResourceHandle ? Submitted::bad_stream : Submitted::failed;
}

const char* paperEditOf(const char* function, const char* arguments) {
  Runtime* const state = runtime();
  if (state == nullptr) return "";
  const std::scoped_lock lock(state->mutex());
  const std::string& wanted = state->settings().edit_as;
  if (wanted.empty() || std::string(arguments).find(wanted) == std::string::npos) return "";
  state->function = function;
  return state->strikes(Runtime::Chance::edit) ? wanted.c_str() : "";
}

double paperDeadline() {
  Runtime* const state = runtime();
  return state == nullptr ? Settings{}.deadline_s : state->settings().deadline_s;
}

void paperFinding(Kind kind, const char* sentence) {
  if (Runtime* const state = runtime()) state->findings().add(kind, Where{}, sentence);
}

void paperBadCall(const char* sentence) {
  if (Runtime* const state = runtime()) state->findings().add(Kind::bad_call, Where{}, sentence);
}

}  // extern "C"
