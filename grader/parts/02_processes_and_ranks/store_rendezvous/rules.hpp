// The rules for a run of store_rendezvous. The judge serves the store and knows, for every meeting
// of every rank, when it began, how and when it ended, and how often it called the store.
#pragma once

#include <vector>

#include "engine/sim/core/services.hpp"
#include "grader/exam/reported_service.hpp"
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

struct MeetingRun {
  const std::vector<MeetingCase>& ranks;
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
