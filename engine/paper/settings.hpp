// The settings of a run on paper. They come from PAPER_* variables in the environment (paper stands
// in for NVIDIA's libraries and cannot be told otherwise from outside), or by key and value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::paper {

struct Settings {
  std::uint64_t seed = 1;    // of the order of warps, blocks and streams: PAPER_SEED
  bool checks = true;        // shadow memory and races; bounds are checked always: PAPER_CHECKS
  bool strict = false;       // exit code 86 at the program's end with any finding: PAPER_STRICT
  bool counters = false;     // sectors, bank passes, FLOPs: PAPER_COUNTERS
  bool history = false;      // what was carried out when, for paperHistory(): PAPER_HISTORY
  double deadline_s = 60.0;  // of a launch, and of a wait for other ranks: PAPER_DEADLINE
  std::uint64_t instructions_max = std::uint64_t{1} << 36;  // of one launch: PAPER_INSTRUCTIONS
  std::size_t memory_bytes = std::size_t{1} << 30;          // of the device: PAPER_MEMORY
  int devices = 1;                                          // PAPER_DEVICES
  int driver = 13000;   // newest CUDA that the driver knows; 0 is no driver: PAPER_DRIVER
  int capability = 80;  // of the device, 80 is 8.0: PAPER_CAPABILITY

  // Faults that strike once, each at the n-th chance, counted from 1; 0 is never. PAPER_FAIL_CALL
  // and so on. paperStruck() says where one has struck.
  std::uint64_t fail_allocation = 0;
  std::uint64_t fail_launch = 0;
  std::uint64_t fail_call = 0;        // any that needs the device and gives nothing back
  std::uint64_t skip_event_wait = 0;  // a cudaStreamWaitEvent that does nothing
  std::uint64_t skip_wait = 0;        // a wait of the host that does not wait
  std::uint64_t fail_collective = 0;  // an operation of NCCL: an asynchronous error on all ranks
  // A kernel, a product, or a copy or memset with a stream, that goes to another stream.
  std::uint64_t move_launch = 0;
  // A call of NCCL that communicates, with one argument changed: edit_as says which. Of the tests,
  // and no variable of the environment.
  std::uint64_t edit_call = 0;
  std::string edit_as;  // "count" (one less), "type", "operator", "root"
  // Blocks of a launch at most, the others are left out; 0: as many as asked for. A kernel that
  // walks on by its grid's size comes to the same result.
  std::uint32_t grid_max = 0;
  std::string ptx_edit;  // of one kernel, "kernel~n~find~put" (cudart/ptx_edit.hpp)
};

// Sets one setting. Returns false where there is no such key or the value does not read. Keys are
// the members' names ("seed", "checks", "deadline_s", "fail_allocation", ...).
bool configure(Settings& settings, std::string_view key, std::string_view value);

// The settings of the environment: PAPER_SEED and so on, the members' names in capitals without
// unit. A value that does not read, and a name that there is none of, is told on stderr and ends
// the program: a gate must not pass by a typo.
Settings settings_of_environment();

}  // namespace lockstep::paper
