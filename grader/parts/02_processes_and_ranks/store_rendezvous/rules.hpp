// The rules for a run of store_rendezvous. The judge serves the store and knows, for every meeting
// of every rank, when it began, how and when it ended, and how often it called the store.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/sim/core/services.hpp"
#include "grader/exam/ranks/services.hpp"
#include "grader/parts/02_processes_and_ranks/store_rendezvous/case.hpp"

namespace lockstep::grader::store_rendezvous {

// A store that answers until `lost_s`: a rank that waits then, or asks later, gets an error.
class LosableStore final : public sim::Service {
 public:
  LosableStore(double call_s, double lost_s) : store(call_s), lost_s_(lost_s) {}

  sim::StoreService store;

  std::string_view name() const override { return "store"; }
  std::optional<Answer> serve(const sim::Actor& who, const sim::Request& request,
                              double now) override;
  double deadline_s(const sim::Request& request, double asked_s) const override;
  Answer expire(const sim::Actor& who, const sim::Request& request, double now) override;

 private:
  double lost_s_;
};

// One meeting of the ranks of a world.
struct MeetingPlan {
  int attempt = 0;
  int size_max = 1000;  // of more ranks, those behind stay away
  double timeout_s = 60;
  double apart_s = 0;            // ranks come so far apart, in a drawn order
  std::map<int, double> late{};  // when a rank comes, where that is said
  std::vector<int> missing{};
};

struct MeetingProblem {
  Members members{};
  std::vector<MeetingPlan> plans{{}};
  double store_timeout_s = 30;
  double lost_s = sim::Service::forever;  // when the store is lost
  std::uint64_t schedule_seed = 0;

  int size_of(const MeetingPlan& plan) const { return std::min(members.size(), plan.size_max); }
  MeetingCase case_of(std::uint64_t salt, int rank) const;
  std::vector<MeetingCase> ranks_of(std::uint64_t salt) const;
  std::string description() const;
};

struct MeetingRun {
  std::vector<MeetingCase> ranks;
  const sim::StoreService& store;
  const ReportedService<MeetingReport>& reports;
  double lost_s = sim::Service::forever;  // when the store is lost
};

// Seconds that one call of the store takes.
inline constexpr double store_call_s = 0.001;
// The calls of the store that one rank may make in one meeting.
inline std::size_t store_calls_max(int size) { return 2 * static_cast<std::size_t>(size) + 2; }

// Each rank got all addresses, or at its deadline an error that names exactly the missing ranks.
void check_outcomes(CaseRunner& runner, const Played& played, const MeetingRun& run);
// No rank made more calls of the store than it may.
void check_calls(CaseRunner& runner, const Played& played, const MeetingRun& run);

}  // namespace lockstep::grader::store_rendezvous
