// The faults of one run, as the core asks for them. Internal to engine/sim: there is none in a
// world without faults, so that it pays one comparison for each place where one could strike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/sim/core/finding.hpp"
#include "engine/sim/core/operation.hpp"
#include "engine/sim/model/faults.hpp"
#include "engine/sim/model/links.hpp"

namespace lockstep::sim {

class FaultState {
 public:
  FaultState(const Faults& faults, int ranks, const Network& network, std::uint64_t seed);

  // Why the rank dies when it asks at `now_s`, or nothing. `call` says what for: "recv (a.cpp:3)".
  std::optional<std::string> asks(int rank, double now_s, const std::string& call);
  bool is_dead(int rank, double at_s) const { return at_s >= dies_s_[index(rank)]; }
  void begins_step(int rank, std::int64_t step) { steps_[index(rank)] = step; }
  double dies_s(int rank) const { return dies_s_[index(rank)]; }
  void has_died(int rank, double at_s) { died_s_[index(rank)] = at_s; }
  double died_s(int rank) const { return died_s_[index(rank)]; }  // 0: it was not killed
  std::string killed(int rank) const;  // "rank 3 was killed by a fault at 10 ms"

  double slowness_of(int rank) const { return slower_[index(rank)]; }
  // How the next message of `src` to `dst` travels. Drawn anew each time.
  LinkChange change(int src, int dst);
  // The slowness of a native collective: that of the worst link between two of its members;
  // infinity if one is cut.
  double slowness_among(const std::vector<int>& members) const;
  // "the link between rank 0 and rank 1 is cut by a fault", or nothing.
  std::optional<std::string> cut(int src, int dst) const;
  std::optional<std::string> cut_among(const std::vector<int>& members) const;

  // An operation that will not take place, and when its owner can know.
  struct Doomed {
    OperationPtr operation;
    std::string why;
    double at_s;
  };
  void doom(const OperationPtr& operation, const std::string& why, double at_s);
  std::optional<Doomed> take_doomed(const OperationPtr& operation);

  // The first fault that struck is what went wrong, whatever came of it.
  // `core` is the part of `what` that other ranks' errors will quote.
  void strike(FindingKind kind, const std::string& what, std::vector<int> ranks,
              const std::string& core);
  bool has_struck() const { return struck_.has_value(); }
  Finding explained(Finding finding) const;

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  bool joins(const Faults::BadLink& link, int a, int b) const;
  bool is_among(const Faults::BadLink& link, const std::vector<int>& members) const;
  static std::string cut_text(const Faults::BadLink& link);

  Faults faults_;
  Network network_;
  std::uint64_t seed_;
  std::vector<double> dies_s_;           // by rank: the time that was set for it
  std::vector<double> died_s_;           // by rank: when a fault killed it
  std::vector<std::int64_t> calls_;      // by rank
  std::vector<std::int64_t> steps_;      // by rank: the one that it is in, from 1
  std::vector<double> slower_;           // by rank
  std::vector<std::uint64_t> passages_;  // by rank: messages sent
  std::unordered_map<const Operation*, Doomed> doomed_;
  std::optional<Finding> struck_;
  std::string struck_core_;
};

}  // namespace lockstep::sim
