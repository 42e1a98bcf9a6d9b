// Handles, waiting, and failing.
#include "engine/paper/cudart/runtime.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/paper/cudart/host_touch.hpp"

namespace lockstep::paper {
namespace {

// The state of the process; never destroyed, as destructors of other libraries call cudart.
struct Process {
  Runtime* runtime = nullptr;
  pid_t made_by = 0;
  std::mutex mutex;
};

Process& process() {
  static Process& only = *new Process();
  return only;
}

// In the order of Runtime::Chance.
struct InjectedFault {
  Runtime::Chance chance;
  std::string_view setting;
  std::uint64_t Settings::*nth;
};
constexpr std::array<InjectedFault, 8> faults{
    {{Runtime::Chance::allocation, "fail_allocation", &Settings::fail_allocation},
     {Runtime::Chance::launch, "fail_launch", &Settings::fail_launch},
     {Runtime::Chance::call, "fail_call", &Settings::fail_call},
     {Runtime::Chance::event_wait, "skip_event_wait", &Settings::skip_event_wait},
     {Runtime::Chance::wait, "skip_wait", &Settings::skip_wait},
     {Runtime::Chance::move, "move_launch", &Settings::move_launch},
     {Runtime::Chance::edit, "edit_call", &Settings::edit_call},
     {Runtime::Chance::collective, "fail_collective", &Settings::fail_collective}}};

std::string number_text(Track track) { return "stream " + std::to_string(track); }

std::string counted(std::size_t count, const std::string& noun) {
  return count == 1 ? (noun == "event" ? "an " : "a ") + noun + " was"
                    : std::to_string(count) + " " + noun + "s were";
}

}  // namespace

GpuDevice::GpuDevice(int its_number, Track its_legacy, const Settings& settings,
                     StreamTimeline& timeline, Findings& findings)
    : number(its_number),
      legacy(its_legacy),
      memory(settings.memory_bytes, timeline, findings,
             settings.checks ? Memory::Checks::on : Memory::Checks::off),
      machine(memory, findings, settings) {}

Runtime::Runtime()
    : settings_(settings_of_environment()),
      schedule_(timeline_, settings_.seed),
      pinned_(timeline_, findings_) {
  if (settings_.history) schedule_.keep_history();
  schedule_.when_idle([this](unsigned turns) {
    const char* const own = function;
    mutex_.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(turns < 20 ? 20 : 300));
    mutex_.lock();
    function = own;
  });
}

bool Runtime::configure(std::string_view key, std::string_view value) {
  const bool too_late = key == "memory_bytes" || key == "checks" || key == "devices";
  if (too_late && has_devices()) return false;
  if (!paper::configure(settings_, key, value)) return false;
  if (key == "seed") schedule_.reseed(settings_.seed);
  if (settings_.history) schedule_.keep_history();
  if (const auto fault = std::ranges::find(faults, key, &InjectedFault::setting);
      fault != faults.end()) {
    chances_[static_cast<std::size_t>(fault->chance)] = 0;  // counted from now on
    struck_.clear();
  }
  return true;
}

bool Runtime::strikes(Chance chance) {
  const auto place = static_cast<std::size_t>(chance);
  if (++chances_[place] != settings_.*faults[place].nth) return false;
  struck_ = function;
  return true;
}

std::uint64_t Runtime::chances(std::string_view setting) const {
  const auto fault = std::ranges::find(faults, setting, &InjectedFault::setting);
  return fault == faults.end() ? 0 : chances_[static_cast<std::size_t>(fault->chance)];
}

std::vector<std::string> Runtime::not_struck() const {
  std::vector<std::string> all;
  for (const InjectedFault& fault : faults) {
    const std::uint64_t nth = settings_.*fault.nth;
    const std::uint64_t had = chances_[static_cast<std::size_t>(fault.chance)];
    // An operation of NCCL fails in one process, for all ranks.
    if (nth <= had || fault.chance == Chance::collective) continue;
    all.push_back("the fault " + std::string(fault.setting) + "=" + std::to_string(nth) +
                  " did not strike: it had " + std::to_string(had) +
                  (had == 1 ? " chance" : " chances"));
  }
  if (!settings_.ptx_edit.empty() && ptx_edits == 0) {
    all.push_back("ptx_edit changed nothing: no kernel of the program has such a name");
  }
  return all;
}

GpuDevice& Runtime::device(int number) {
  if (settings_.devices == 0) throw Failed{cudaErrorNoDevice};
  if (number < 0 || number >= settings_.devices) throw Failed{cudaErrorInvalidDevice};
  if (devices_.empty()) {
    devices_.resize(static_cast<std::size_t>(settings_.devices));
    catch_host_touches();
  }
  auto& place = devices_[static_cast<std::size_t>(number)];
  if (place == nullptr) {
    std::string name = "the default stream";
    if (settings_.devices > 1) name += " of device " + std::to_string(number);
    const Track legacy = timeline_.add(TrackKind::legacy, number, name);
    place = std::make_unique<GpuDevice>(number, legacy, settings_, timeline_, findings_);
  }
  return *place;
}

GpuDevice* Runtime::device_of(const void* address) {
  for (const auto& device : devices_) {
    if (device != nullptr && device->memory.holds(reinterpret_cast<std::uint64_t>(address))) {
      return device.get();
    }
  }
  return nullptr;
}

Runtime::Queue Runtime::queue(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) {
    GpuDevice& device = current();
    return {device, device.legacy};
  }
  if (handle == cudaStreamPerThread) {
    cudaStream_t& own = thread().own_streams[thread().device];
    if (own == nullptr) own = add_stream(cudaStreamDefault, 0);
    handle = own;
  }
  const CUstream_st& found = stream(handle);
  return {device(found.device), found.track};
}

Runtime::Queue Runtime::queue_of_launch(cudaStream_t handle) {
  const Queue asked = queue(handle);
  if (!strikes(Chance::move)) return asked;
  const auto [stray, fresh] = strays_.try_emplace(asked.device.number);
  if (fresh) {
    stray->second = timeline_.add(TrackKind::non_blocking, asked.device.number, "a stray stream");
  }
  return {asked.device, stray->second};
}

cudaStream_t Runtime::add_stream(unsigned flags, int priority) {
  GpuDevice& device = current();
  const TrackKind kind =
      (flags & cudaStreamNonBlocking) != 0 ? TrackKind::non_blocking : TrackKind::blocking;
  const Track track = timeline_.add(kind, device.number, number_text(timeline_.tracks() - 1));
  auto made = std::make_unique<CUstream_st>(CUstream_st{track, device.number, flags, priority});
  cudaStream_t handle = made.get();
  streams_[handle] = std::move(made);
  return handle;
}

CUstream_st& Runtime::stream(cudaStream_t handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) {
    refuse(cudaErrorInvalidResourceHandle, Kind::bad_call,
           "the stream is no stream; was it created, in this process?");
  }
  if (found->second->destroyed) {
    refuse(cudaErrorInvalidResourceHandle, Kind::bad_call,
           timeline_.name_of_track(found->second->track) +
               " has been destroyed; destroy a stream after its last use");
  }
  return *found->second;
}

cudaEvent_t Runtime::add_event(unsigned flags) {
  auto made = std::make_unique<CUevent_st>(CUevent_st{current().number, flags, false, false, {}});
  cudaEvent_t handle = made.get();
  events_[handle] = std::move(made);
  return handle;
}

CUevent_st& Runtime::event(cudaEvent_t handle) {
  const auto found = events_.find(handle);
  if (found == events_.end()) {
    refuse(cudaErrorInvalidResourceHandle, Kind::bad_call,
           "the event is no event; was it created, in this process?");
  }
  if (found->second->destroyed) {
    refuse(cudaErrorInvalidResourceHandle, Kind::bad_call,
           "the event has been destroyed; destroy an event after its last use");
  }
  return *found->second;
}

std::size_t Runtime::streams_left() const {
  std::size_t own = 0;
  for (const auto& [id, state] : threads_) own += state.own_streams.size();
  const auto live =
      std::ranges::count_if(streams_, [](const auto& entry) { return !entry.second->destroyed; });
  return static_cast<std::size_t>(live) - own;
}

std::size_t Runtime::events_left() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(events_, [](const auto& entry) { return !entry.second->destroyed; }));
}

Operation Runtime::enqueue(const Queue& queue, std::string_view name,
                           std::function<void(Operation)> body) {
  const Operation operation = timeline_.begin(queue.track, name);
  schedule_.add({operation, [operation, body = std::move(body)] { body(operation); }});
  return operation;
}

Operation Runtime::enqueue_steps(const Queue& queue, std::string_view name,
                                 std::function<LibrarySteps::Step(Operation)> step,
                                 std::function<bool()> wanted) {
  const Operation operation = timeline_.begin(queue.track, name);
  schedule_.add({operation,
                 {},
                 [this, &device = queue.device, operation, step = std::move(step)] {
                   const LibrarySteps::Step made = step(operation);
                   if (made == LibrarySteps::Step::failed) fail(device, cudaErrorLaunchFailure);
                   return made == LibrarySteps::Step::waits ? Progress::waits : Progress::done;
                 },
                 std::move(wanted)});
  if (!helps_) std::thread([this] { help_others(); }).detach();
  helps_ = true;
  return operation;
}

// A GPU carries out a collective though its host does something else, such as waiting for the
// peer's host. Here it takes this thread.
void Runtime::help_others() {
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::scoped_lock lock(mutex_);
    if (finishing_) return;
    schedule_.run_wanted();
  }
}

void Runtime::wait_for(Clock clock) {
  schedule_.run_until(clock);
  timeline_.host_learns(clock);
  pinned_.let_go();
}

bool Runtime::query(const Clock& clock) {
  if (!schedule_.step_towards(clock)) return false;
  timeline_.host_learns(clock);
  pinned_.let_go();
  return true;
}

Clock Runtime::everything_of(const GpuDevice& device) {
  Clock all;
  for (Track track = 1; track < timeline_.tracks(); ++track) {
    if (timeline_.device_of(track) == device.number) all.join(timeline_.now(track));
  }
  return all;
}

void Runtime::fail(GpuDevice& device, cudaError_t error) {
  if (device.failure != cudaSuccess) return;
  device.failure = error;
  schedule_.drop(device.number);
}

cudaError_t Runtime::sticky_error() {
  const auto number = static_cast<std::size_t>(thread().device);
  const bool made = number < devices_.size() && devices_[number] != nullptr;
  return made ? devices_[number]->failure : cudaSuccess;
}

const std::vector<std::uint64_t>& Runtime::variables_of(GpuDevice& device, Binary& binary) {
  const auto found = device.variables.find(&binary);
  if (found != device.variables.end()) return found->second;
  const ptx::Module& module = binary.module();
  const Operation operation = timeline_.begin_on_host("loading of a module");
  std::vector<std::uint64_t> addresses = place(module, device.memory, operation);
  if (addresses.size() != module.variables.size()) throw Failed{cudaErrorMemoryAllocation};
  return device.variables[&binary] = std::move(addresses);
}

KernelCounters Runtime::kernel_counters() const {
  KernelCounters all;
  for (const auto& device : devices_) {
    if (device == nullptr) continue;
    for (const auto& [kernel, counters] : device->machine.kernel_counters())
      all[kernel] += counters;
  }
  return all;
}

LinesOfKernels Runtime::lines_of_kernels() const {
  for (const auto& device : devices_) {
    if (device != nullptr) return device->machine.lines_of_kernels();
  }
  return {};
}

void Runtime::refuse(cudaError_t error, Kind kind, const std::string& sentence) {
  findings_.add(kind, Where{}, std::string(function) + ": " + sentence);
  throw Failed{error};
}

void Runtime::find_leaks() {
  const auto leak = [&](const std::string& sentence) {
    findings_.add(Kind::leak, Where{}, sentence);
  };
  for (const auto& device : devices_) {
    if (device != nullptr) device->memory.report_leaks();
  }
  for (const PinnedMemory::Leak& left : pinned_.leaks()) {
    leak(std::to_string(left.bytes) + " bytes of pinned host memory were never freed" +
         (left.after == 0 ? "" : "; allocated after " + timeline_.describe(left.after)));
  }
  if (const std::size_t left = streams_left()) leak(counted(left, "stream") + " never destroyed");
  if (const std::size_t left = events_left()) leak(counted(left, "event") + " never destroyed");
}

void Runtime::finish() {
  const std::scoped_lock lock(mutex_);  // from the thread that helps others
  finishing_ = true;
  bool failed = false;
  for (const auto& device : devices_) {
    if (device == nullptr) continue;
    wait_for(everything_of(*device));
    const Operation end = timeline_.begin_on_host("the end of the program");
    for (const auto& [binary, addresses] : device->variables) {
      for (const std::uint64_t address : addresses) device->memory.release(address, end);
    }
    failed |= device->failure != cudaSuccess;
  }
  if (!failed) find_leaks();  // after a failure nothing can be freed
}

Runtime* runtime() {
  Process& only = process();
  const std::scoped_lock lock(only.mutex);
  if (only.runtime != nullptr && only.made_by != getpid()) {
    if (only.runtime->has_devices()) return nullptr;
    only.runtime = nullptr;
  }
  if (only.runtime == nullptr) {
    only.runtime = new Runtime();
    only.made_by = getpid();
  }
  return only.runtime;
}

Runtime* runtime_if_made() {
  Process& only = process();
  return only.made_by == getpid() ? only.runtime : nullptr;
}

}  // namespace lockstep::paper
