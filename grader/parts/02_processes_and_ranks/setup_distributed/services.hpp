// The machines that setup_distributed is tried on: nodes with names, one store at most, groups that
// come together or apart. The judge makes them up and keeps the record of what ranks did with them.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "engine/sim/core/services.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/parts/02_processes_and_ranks/setup_distributed/case.hpp"

namespace lockstep::grader::setup_distributed {

// Seconds that one call of the store takes.
inline constexpr double setup_call_s = 0.001;

const char* name_of(launch::Backend backend);

// The machines on which the ranks run: a node for each rank, and the names of the nodes.
struct MachineSet {
  std::vector<int> node_of;
  std::vector<std::string> names;
  // The node that `host` means to a rank on node `from`, or -1.
  int node_called(const std::string& host, int from) const;
};

// The store, as long as a rank serves it; a new store is empty.
class ServedStore final : public sim::Service {
 public:
  void begin() { store_ = std::make_unique<sim::StoreService>(setup_call_s); }
  void end() { store_.reset(); }

  // The requests to the store that is served now.
  const std::vector<sim::StoreService::Record>& log() const {
    static const std::vector<sim::StoreService::Record> nothing;
    return store_ ? store_->log() : nothing;
  }

  std::string_view name() const override { return "store"; }
  std::optional<Answer> serve(const sim::Actor& who, const sim::Request& request,
                              double now) override;
  double deadline_s(const sim::Request& request, double asked_s) const override;
  Answer expire(const sim::Actor& who, const sim::Request& request, double now) override;

 private:
  sim::StoreService& there() const;
  std::unique_ptr<sim::StoreService> store_;
};

using Sessions = ReportedService<SessionReport>;

class MachinesService final : public TypedService<MachineCall> {
 public:
  using Place = std::pair<int, int>;  // node, port
  // `sessions`: tells which groups belong together. `launchers`: a store that the launcher serves
  // from the beginning, or nothing. `lost`: a rank whose first group fails, while all others wait
  // for it; or -1.
  MachinesService(MachineSet cluster, ServedStore& store, const Sessions& sessions,
                  std::optional<Place> launchers, int lost);

  // When a rank asked for what.
  struct ServedRequest {
    int rank;
    double at_s;
    MachineCall call;

    comm::Endpoint place() const { return {call.host, call.port}; }
  };
  std::vector<ServedRequest> hosted;    // every time that a rank began to serve a store
  std::vector<ServedRequest> connects;  // every place at which a rank looked for a store
  std::vector<ServedRequest> groups;    // every time that a rank asked for a group
  std::set<Place> served;               // by ranks, now
  std::optional<std::string> apart;     // why a group could not come together

  double deadline_s(const sim::Request& request, double asked_s) const override;
  Answer expire(const sim::Actor& who, const sim::Request& request, double now) override;

 private:
  struct Gathering {
    std::map<int, MachineCall> asked;  // by the rank that plays
  };
  using GroupNumber = std::pair<std::uint32_t, int>;  // the step, and which of its groups
  std::optional<Answer> answer(const sim::Actor& who, MachineCall call, double now) override;
  void host(int who, const MachineCall& call, double now);
  void unhost(int who, const MachineCall& call);
  std::optional<Answer> join(int who, const MachineCall& call, double now);
  void require_agreement(const Gathering& gathering);

  MachineSet cluster_;
  ServedStore& store_;
  const Sessions& sessions_;
  std::optional<Place> launchers_;
  int lost_;
  std::set<int> looking_;  // ranks that look for a store
  std::map<GroupNumber, Gathering> gatherings_;
  std::map<int, GroupNumber> joined_;  // the last group that a rank has asked for
  std::set<int> waiting_;              // ranks whose last group has not come together
};

}  // namespace lockstep::grader::setup_distributed
