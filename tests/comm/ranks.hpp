// Ranks as forked processes that meet in a store of the parent. A rank that throws, crashes or
// never ends fails the test: its exit code and its message both come back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/comm/gloo.hpp"
#include "engine/comm/store.hpp"

namespace lockstep::test {

// The deadline of waits that end without it: so late that no busy machine meets it.
inline constexpr double late_s = 120;

struct Outcome {
  bool ok = false;
  std::string message;  // what it threw, what it returned, or how it ended
  double seconds = 0;   // from the start of all to its end
};

// Body of one rank; what it returns is its message. Throwing makes the rank fail.
using RankStore = std::function<std::string(comm::Store& store, int rank)>;
std::vector<Outcome> run_processes(int ranks, const RankStore& body);

// The same with a group of all ranks, over TCP unless another transport is asked for.
using RankGroup = std::function<std::string(comm::ProcessGroup& group)>;
std::vector<Outcome> run_gloo(int ranks, const RankGroup& body, double timeout_s = late_s,
                              comm::Transport transport = comm::Transport::gloo);

// Whether a test of many sizes also goes over TCP with this one. Shared memory has all sizes:
// Gloo's threads poll their sockets, and where they are more than the cores, a size takes seconds.
constexpr bool also_over_tcp(int ranks) { return ranks <= 3 || ranks == 5; }

// The same on several hosts, as far as the group knows: rank r is on host r % hosts.
std::vector<Outcome> run_on_hosts(int ranks, int hosts, const RankGroup& body,
                                  double timeout_s = late_s);

// For bodies: a failed expectation throws, so that the rank fails.
void expect(bool condition, const std::string& otherwise);
// The message of the CommError that `body` must throw.
std::string error_of(const std::function<void()>& body);
// What a ContractError says that `body` throws; empty when it throws nothing.
std::string refusal_of(const std::function<void()>& body);
Tensor ones(std::int64_t count, DType dtype, Device& device);

// Empty when all ranks are well; else every message, for CHECK(failures(...) == "").
std::string failures(const std::vector<Outcome>& outcomes);

}  // namespace lockstep::test
