// The handler. It does what a handler should not (allocate, lock), which is as good as it gets: the
// fault is an ordinary instruction of the program, and without the finding nobody learns why.
#include "engine/paper/cudart/host_touch.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <sys/ucontext.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include "engine/paper/cudart/report.hpp"
#include "engine/paper/cudart/runtime.hpp"

namespace lockstep::paper {
namespace {

struct sigaction& earlier_handler() {
  static struct sigaction earlier = {};
  return earlier;
}

#if defined(__x86_64__)
Use use_of(const ucontext_t& context) {
  constexpr greg_t write_bit = 2;  // of the page fault's error code
  return (context.uc_mcontext.gregs[REG_ERR] & write_bit) != 0 ? Use::write : Use::read;
}
const void* place_of(const ucontext_t& context) {
  return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RIP]);
}
#else
Use use_of(const ucontext_t&) { return Use::read; }
const void* place_of(const ucontext_t&) { return nullptr; }
#endif

// " in copy_row (libmine.so+0x1234)", as far as the dynamic symbols say; addr2line tells the line.
std::string function_at(const void* place) {
  Dl_info info{};
  if (place == nullptr || dladdr(place, &info) == 0) return "";
  std::string text;
  if (info.dli_sname != nullptr) text += " in " + demangle(info.dli_sname);
  if (info.dli_fname != nullptr) {
    const char* slash = std::strrchr(info.dli_fname, '/');
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%zx)",
                  static_cast<std::size_t>(static_cast<const char*>(place) -
                                           static_cast<const char*>(info.dli_fbase)));
    text += std::string(" (") + (slash == nullptr ? info.dli_fname : slash + 1) + offset;
  }
  return text;
}

std::string of_allocation(const GpuDevice& device, std::uint64_t address) {
  const std::uint64_t start = device.memory.allocation_of(address);
  if (start == 0) return "device memory that is not allocated";
  return "byte " + std::to_string(address - start) + " of an allocation of " +
         std::to_string(device.memory.bytes_of(start)) + " bytes on the device";
}

// Returns true if the access may be tried again.
bool explain(Runtime& state, const void* address, const ucontext_t& context) {
  const std::unique_lock lock(state.mutex(), std::try_to_lock);  // held by another thread: go on
  const Use use = use_of(context);
  if (const auto touched = state.pinned().touched_by_host(address, use)) {
    if (!touched->sentence.empty()) {
      state.findings().add(Kind::stream_race, Where{},
                           "the host" + function_at(place_of(context)) + touched->sentence);
    }
    return true;
  }
  GpuDevice* device = state.device_of(address);
  if (device == nullptr) return false;
  state.findings().add(Kind::host_touch, Where{},
                       "the host" + function_at(place_of(context)) +
                           (use == Use::write ? " writes " : " reads ") +
                           of_allocation(*device, reinterpret_cast<std::uint64_t>(address)) +
                           "; copy with cudaMemcpy, or do it in a kernel");
  print_findings(state);
  return false;
}

void handle(int signal, siginfo_t* info, void* context) {
  Runtime* const state = runtime_if_made();
  if (state != nullptr && explain(*state, info->si_addr, *static_cast<ucontext_t*>(context)))
    return;
  // Put back what was there; the instruction runs again, and that one gets the signal.
  sigaction(signal, &earlier_handler(), nullptr);
}

}  // namespace

void catch_host_touches() {
  struct sigaction now = {};
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handle) return;
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGSEGV, &action, nullptr) == 0) earlier_handler() = now;
}

}  // namespace lockstep::paper
