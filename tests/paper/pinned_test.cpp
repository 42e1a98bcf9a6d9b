// Pinned host memory: who may use it while a copy is under way. The host's own accesses are
// reported to it here as the handler of SIGSEGV would; host_faults_test has real ones.
#include "engine/paper/order/pinned.hpp"

#include <cstring>

#include "tests/catch.hpp"

using namespace lockstep::paper;
using lockstep::test::contains;

namespace {

struct Pinned {
  Findings findings;
  StreamTimeline timeline;
  Track first = timeline.add(TrackKind::non_blocking, 0, "stream 1");
  Track second = timeline.add(TrackKind::non_blocking, 0, "stream 2");
  PinnedMemory memory{timeline, findings};
  char* buffer = static_cast<char*>(memory.allocate(10000));

  Operation copy(Track track, Use use, std::size_t from, std::size_t bytes) {
    const Operation operation = timeline.begin(track, "copy");
    memory.hold(operation, use, buffer + from, bytes);
    return operation;
  }
};

}  // namespace

TEST_CASE("pinned memory: the host and the copies see the same bytes, each at its own address") {
  Pinned is;
  std::memcpy(is.buffer + 100, "seen", 5);
  CHECK(std::string(reinterpret_cast<char*>(is.memory.alias(is.buffer + 100, 5))) == "seen");
  CHECK(is.memory.alias(is.buffer + 9999, 1) != nullptr);
  CHECK(is.memory.alias(is.buffer + 9999, 2) == nullptr);
  CHECK_FALSE(is.memory.contains(&is));
}

TEST_CASE(
    "pinned memory: two copies that nothing orders may both read, but not write, the same bytes") {
  const auto [one, other, races] = GENERATE(table<Use, Use, std::size_t>(
      {{Use::read, Use::read, 0}, {Use::read, Use::write, 1}, {Use::write, Use::write, 1}}));
  Pinned is;
  is.copy(is.first, one, 0, 100);
  is.copy(is.second, other, 99, 100);
  CHECK(is.findings.size() == races);
}

TEST_CASE("pinned memory: copies that an event orders, or that lie apart, do not race") {
  Pinned is;
  is.copy(is.first, Use::write, 0, 100);
  is.copy(is.second, Use::write, 100, 100);
  is.timeline.wait(is.second, is.timeline.now(is.first));
  is.copy(is.second, Use::read, 0, 100);
  CHECK(is.findings.size() == 0);
}

TEST_CASE(
    "pinned memory: the host may read what a copy reads, but not write it, and touch nothing "
    "that a copy writes, until it has waited") {
  Pinned is;
  is.copy(is.first, Use::read, 0, 100);
  is.copy(is.first, Use::write, 200, 100);
  CHECK(is.memory.touched_by_host(is.buffer + 50, Use::read)->sentence == "");
  CHECK_THAT(is.memory.touched_by_host(is.buffer + 50, Use::write)->sentence,
             contains(" writes pinned memory that copy (#1 of stream 1) reads"));
  CHECK_THAT(is.memory.touched_by_host(is.buffer + 299, Use::read)->sentence,
             contains("copy (#2 of stream 1) writes"));
  CHECK(is.memory.touched_by_host(is.buffer + 300, Use::write)->sentence == "");  // beside it
  CHECK_FALSE(is.memory.touched_by_host(&is, Use::write));                        // not ours
  is.timeline.host_learns(is.timeline.now(is.first));
  is.memory.let_go();
  CHECK(is.memory.touched_by_host(is.buffer + 50, Use::write)->sentence == "");
  std::memset(is.buffer, 1, 10000);
}

TEST_CASE("pinned memory: what one copy lets go, another on the same page keeps") {
  Pinned is;
  is.copy(is.first, Use::write, 0, 100);
  is.copy(is.second, Use::write, 100, 100);
  is.timeline.host_learns(is.timeline.now(is.first));
  is.memory.let_go();
  CHECK(is.memory.touched_by_host(is.buffer, Use::write)->sentence == "");
  CHECK(is.memory.touched_by_host(is.buffer + 100, Use::write)->sentence != "");
}

TEST_CASE("pinned memory: it tells who uses an allocation, and what was not freed") {
  Pinned is;
  CHECK_FALSE(is.memory.user_of(is.buffer));
  CHECK(is.memory.leaks().size() == 1);
  CHECK(is.memory.leaks()[0].bytes == 10000);
  const Operation operation = is.copy(is.first, Use::read, 0, 1);
  CHECK(is.memory.user_of(is.buffer) == operation);
  CHECK_FALSE(is.memory.release(is.buffer + 1));
  CHECK(is.memory.release(is.buffer));
  CHECK(is.memory.leaks().empty());
}
