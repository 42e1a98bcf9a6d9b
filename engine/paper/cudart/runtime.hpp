// The state of paper's cudart in one process: devices, streams, events, pinned memory, and what
// each thread of the host has set. The functions of the API (api_*.cpp) are thin: call() locks,
// turns what they throw into CUDA's error, and remembers it as cudaGetLastError wants it.
//
// Invariants
//   1. Nothing is made before the first call that needs a device, and everything is made anew in a
//      forked child; a child of a process that had used a device gets cudaErrorInitializationError,
//      as from CUDA.
//   2. An operation of a device that fails makes every later call of that device return its error:
//      sticky, as CUDA says. What was queued for it never runs.
//   3. Handles stay known after they are destroyed, so that using one again is told as that.
//
// Thread: one lock guards all of it. It is let go while a wait of the host waits for other
// processes. A host callback runs while it is held, so that one that calls CUDA is refused (CUDA
// forbids it too) and one that waits for a thread in a CUDA call hangs.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/paper/cudart/registry.hpp"
#include "engine/paper/findings.hpp"
#include "engine/paper/machine/machine.hpp"
#include "engine/paper/memory/memory.hpp"
#include "engine/paper/order/library.hpp"
#include "engine/paper/order/pinned.hpp"
#include "engine/paper/order/schedule.hpp"
#include "engine/paper/order/timeline.hpp"
#include "engine/paper/settings.hpp"

struct CUstream_st {
  lockstep::paper::Track track = 0;
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  bool destroyed = false;
};

struct CUevent_st {
  int device = 0;
  unsigned flags = 0;
  bool recorded = false;
  bool destroyed = false;
  lockstep::paper::Clock clock;  // what must have run for it to be complete
};

namespace lockstep::paper {

// Thrown inside of a call, and returned by it.
struct Failed {
  cudaError_t error;
};

struct GpuDevice {
  GpuDevice(int its_number, Track its_legacy, const Settings& settings, StreamTimeline& timeline,
            Findings& findings);
  int number;
  Track legacy;
  Memory memory;
  Machine machine;
  cudaError_t failure = cudaSuccess;                              // sticky
  std::map<const Binary*, std::vector<std::uint64_t>> variables;  // in the order of the module's
};

struct LaunchConfiguration {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};

struct ThreadState {
  int device = 0;
  cudaError_t last = cudaSuccess;
  std::vector<LaunchConfiguration> pushed;
  std::map<int, cudaStream_t> own_streams;  // cudaStreamPerThread, by device
};

class Runtime {
 public:
  Runtime();

  // Which functions of the API run now, for sentences. Set by call().
  const char* function = "";

  const Settings& settings() const { return settings_; }
  bool configure(std::string_view key, std::string_view value);  // false: unknown, or too late
  Findings& findings() { return findings_; }
  StreamTimeline& timeline() { return timeline_; }
  Schedule& schedule() { return schedule_; }
  PinnedMemory& pinned() { return pinned_; }
  ThreadState& thread() { return threads_[std::this_thread::get_id()]; }

  bool has_devices() const { return !devices_.empty(); }
  GpuDevice& device(int number);  // made at the first call; throws where there is none
  GpuDevice& current() { return device(thread().device); }
  GpuDevice* device_of(const void* address);  // whose memory has that address, or nullptr

  // Streams and events by handle; throw with a finding where the handle is none.
  struct Queue {
    GpuDevice& device;
    Track track;
  };
  Queue queue(cudaStream_t stream);
  Queue queue_of_launch(cudaStream_t stream);  // unless a setting moves this launch elsewhere
  cudaStream_t add_stream(unsigned flags, int priority);
  CUstream_st& stream(cudaStream_t stream);  // no default stream
  cudaEvent_t add_event(unsigned flags);
  CUevent_st& event(cudaEvent_t event);
  std::size_t streams_left() const;
  std::size_t events_left() const;

  // Adds an operation. `body` runs when it is drawn, unless the device has failed by then.
  Operation enqueue(const Queue& queue, std::string_view name, std::function<void(Operation)> body);
  // The same of an operation in steps, which a thread of ours helps on while the host is elsewhere.
  Operation enqueue_steps(const Queue& queue, std::string_view name,
                          std::function<LibrarySteps::Step(Operation)> step,
                          std::function<bool()> wanted);
  void wait_for(Clock clock);      // the host waits, and knows; other threads may call meanwhile
  bool query(const Clock& clock);  // the host asks; it knows if the answer is yes
  Clock everything_of(const GpuDevice& device);
  void fail(GpuDevice& device, cudaError_t error);
  cudaError_t sticky_error();  // of this thread's device, without making one

  KernelCounters kernel_counters() const;   // of all devices
  LinesOfKernels lines_of_kernels() const;  // of the first that was used

  const std::vector<std::uint64_t>& variables_of(GpuDevice& device, Binary& binary);

  // A call that CUDA forbids: a finding that begins with the function's name, and its error.
  [[noreturn]] void refuse(cudaError_t error, Kind kind, const std::string& sentence);

  // The settings' faults: whether one strikes at this chance.
  enum class Chance { allocation, launch, call, event_wait, wait, move, edit, collective };
  bool strikes(Chance chance);
  std::uint64_t chances(std::string_view setting) const;  // how many there were of that setting
  const std::string& struck() const { return struck_; }   // "cudaMalloc"; empty: none has
  std::vector<std::string> not_struck() const;  // sentences: the faults that had too few chances

  // At the end of the process: runs what nobody waited for, and finds what nobody freed.
  void finish();
  bool finishing() const { return finishing_; }

  int ptx_edits = 0;        // changes that the setting has made so far
  std::size_t printed = 0;  // of the findings
  std::string told;         // what paperFindings or paperCounters returned last
  std::recursive_mutex& mutex() { return mutex_; }
  std::thread::id callback_thread;  // the one that runs a host callback now

 private:
  void find_leaks();
  void help_others();

  Settings settings_;
  Findings findings_;
  StreamTimeline timeline_;
  Schedule schedule_;
  PinnedMemory pinned_;
  std::vector<std::unique_ptr<GpuDevice>> devices_;
  std::map<const void*, std::unique_ptr<CUstream_st>> streams_;
  std::map<const void*, std::unique_ptr<CUevent_st>> events_;
  std::map<std::thread::id, ThreadState> threads_;
  bool finishing_ = false;
  bool helps_ = false;
  std::array<std::uint64_t, 8> chances_{};
  std::string struck_;
  std::map<int, Track> strays_;  // by device: where moved launches go, for which nothing waits
  std::recursive_mutex mutex_;
};

// The one of this process, made at the first call and again in a forked child; nullptr in a child
// of a process that had used a device.
Runtime* runtime();
Runtime* runtime_if_made();

}  // namespace lockstep::paper
