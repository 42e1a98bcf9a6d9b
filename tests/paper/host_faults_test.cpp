// Planted faults of the host side: paper finds each, in its words, with every seed, and finds
// nothing in the same program without it.
#include <set>
#include <sstream>
#include <string>

#include "tests/catch.hpp"
#include "tests/paper/run_program.hpp"

using lockstep::test::contains;
using lockstep::test::exit_code_of_findings;
using lockstep::test::Ran;
using lockstep::test::run_program;

namespace {

struct Fault {
  std::string program = "", name = "";
  // What paper says, see says(). Which of two operations that race comes second, and at which byte
  // they meet first, is the seed's choice.
  std::string sentence = "";
  int exit_code = exit_code_of_findings;
  std::string settings = "";
};

constexpr int killed_by_sigsegv = 128 + 11;

const Fault faults[] = {
    {"faults", "forgotten_wait",
     "race between streams in scale*scale (#1 of stream 2) reads byte * of allocation #1 (4000 "
     "bytes), which fill (#1 of stream 1) writes|"
     "race between streams in fill*fill (#1 of stream 1) writes byte * of allocation #1 (4000 "
     "bytes), which scale (#1 of stream 2) reads"},
    {"faults", "early_record", "a wait for an event or a stream is missing"},
    {"faults", "copy_races_kernel",
     "race between streams*cudaMemcpyAsync (#1 of stream 2) reads|"
     "race between streams*which cudaMemcpyAsync (#1 of stream 2) reads"},
    {"faults", "default_stream_is_no_wait", "which cudaMemcpy (#1 of the default stream) writes"},
    {"faults", "pinned_changed",
     "writes pinned memory that cudaMemcpyAsync (#1 of stream 1) reads"},
    {"faults", "pinned_read_early",
     "reads pinned memory that cudaMemcpyAsync (#2 of stream 1) writes"},
    {"faults", "pinned_written_twice",
     "cudaMemcpyAsync (#2 of stream 2) writes pinned host memory that cudaMemcpyAsync (#2 of "
     "stream "
     "1) writes"},
    {"faults", "pinned_freed_early",
     "cudaFreeHost: cudaMemcpyAsync (#1 of stream 1) uses the memory"},
    {"faults", "callback_calls_cuda", "cudaMemset: called by a host callback"},
    {"faults", "used_after_free", "use after free"},
    {"faults", "freed_twice", "has been freed before"},
    {"faults", "freed_as_another", "free it with cudaFreeHost"},
    {"faults", "leaked", "leak: allocation #1 of 4000 bytes was never freed"},
    {"faults", "leaked_pinned", "leak: 4000 bytes of pinned host memory were never freed"},
    {"faults", "leaked_stream", "leak: a stream was never destroyed"},
    {"faults", "host_reads_device",
     "reads byte 28 of an allocation of 4000 bytes on the device; copy with cudaMemcpy",
     killed_by_sigsegv},
    {"faults", "wrong_kind",
     "cudaMemcpy: the kind is cudaMemcpyDeviceToHost, but the source is memory of the host"},
    {"faults", "copy_past_end",
     "out of bounds: cudaMemcpy: a write of 4008 bytes at byte 0 of allocation #1 (4000 bytes)"},
    {"faults", "copy_of_nothing_written", "uninitialised: cudaMemcpy reads byte 0"},
    {"faults", "copy_overlaps", "cudaMemcpyAsync: source and destination overlap"},
    {"wrong_calls", "event_destroyed", "cudaStreamWaitEvent: the event has been destroyed"},
    {"wrong_calls", "stream_destroyed", "launch of fill: stream 1 has been destroyed"},
    {"wrong_calls", "stream_of_another_device",
     "launch of fill: stream 1 is of device 1, and device 0 is current", exit_code_of_findings,
     "PAPER_DEVICES=2"},
    {"wrong_calls", "memory_of_another_device", "out of bounds", exit_code_of_findings,
     "PAPER_DEVICES=2"},
    {"wrong_calls", "too_many_threads", "limit"},
    {"wrong_calls", "too_many_blocks", "limit"},
    {"wrong_calls", "too_much_shared_memory", "limit"},
    {"wrong_calls", "small_leading_dimension",
     "cublasSgemm: the leading dimension of A is 19, but a column of it has 20 elements"},
    {"wrong_calls", "product_past_end", "out of bounds: cublasSgemm: a read of 2400 bytes"},
    {"wrong_calls", "product_races", "race between streams*cublasSgemm (#1 of stream 1) reads"},
    {"wrong_calls", "shared_workspace", "race between streams: cublasSgemm"},
    {"wrong_calls", "handle_destroyed", "cublasSetStream: the handle has been destroyed"},
};

// Whether the text holds the pieces of one of the alternatives, in order: "reads byte * of|writes".
bool says(const std::string& text, const std::string& alternatives) {
  std::istringstream each(alternatives);
  for (std::string one; std::getline(each, one, '|');) {
    std::istringstream pieces(one);
    std::size_t at = 0;
    for (std::string piece; at != std::string::npos && std::getline(pieces, piece, '*');) {
      at = text.find(piece, at);
    }
    if (at != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("paper: each planted fault of the host side is found, with every seed") {
  for (const Fault& fault : faults) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      INFO(fault.name << ", seed " << seed);
      const Ran ran = run_program(fault.program, fault.name, seed, fault.settings);
      INFO(ran.said);
      CHECK(ran.exit_code == fault.exit_code);
      CHECK(says(ran.said, fault.sentence));
      CHECK_THAT(ran.said, !contains("does not hold"));
    }
  }
}

TEST_CASE("paper: without the fault there is no finding, over 8 seeds") {
  for (const Fault& fault : faults) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      INFO(fault.name << ", seed " << seed);
      const Ran ran = run_program(fault.program, fault.name + " clean", seed, fault.settings);
      INFO(ran.said);
      CHECK(ran.exit_code == 0);
      CHECK_THAT(ran.said, !contains("paper:"));
    }
  }
}

TEST_CASE(
    "paper: a forgotten wait gives wrong values with some seed, and with some the right ones") {
  std::set<std::string> values;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    const std::string said = run_program("faults", "forgotten_wait", seed).said;
    values.insert(said.substr(said.find("value"), 7));
  }
  CHECK(values == std::set<std::string>{"value 0", "value 2"});
}

TEST_CASE("paper: a wait that the settings skip is a fault as if it had been forgotten") {
  const Ran ran = run_program("faults", "forgotten_wait clean", 1, "PAPER_SKIP_EVENT_WAIT=1");
  CHECK(ran.exit_code == exit_code_of_findings);
  CHECK_THAT(ran.said, contains("race between streams"));
}
