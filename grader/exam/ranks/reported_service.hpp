// Services of the judge whose calls are structs (play/ask.hpp), and the one by which an adapter
// tells what its rank does, step by step, so that the judge knows when: in virtual time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/sim/core/core.hpp"
#include "grader/exam/ranks/asked.hpp"
#include "grader/exam/ranks/evidence.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/play/ask.hpp"

namespace lockstep::grader {

// Refuses what is no Call.
template <typename Call>
class TypedService : public sim::Service {
 public:
  std::string_view name() const final { return Call::service; }
  std::optional<Answer> serve(const sim::Actor& who, const sim::Request& request,
                              double now) final {
    return answer(who, call_in(request), now);
  }

 protected:
  static Call call_in(const sim::Request& request) {
    return fields_from_bytes<Call>(request.data.bytes);
  }
  static Answer answer_with(const auto& value, double at_s) {
    return {sim::payload_of(fields_to_bytes(value)), at_s};
  }
  // As Service::serve.
  virtual std::optional<Answer> answer(const sim::Actor& who, Call call, double now) = 0;
};

// Notes what ranks tell. Report has a `kind`, and the number `step` of what it is about; a step has
// a bound on its number and on the reports of a rank, so that no player reports for ever.
template <typename Report>
class ReportedService final : public TypedService<Report> {
 public:
  using Answer = sim::Service::Answer;

  struct Caps {
    std::uint32_t steps = 1000;
    std::size_t reports = 2;  // of a rank in a step
  };
  explicit ReportedService(Caps caps) : caps_(caps) {}

  struct Note {
    double at_s = 0;
    Report report;
  };
  // The reports of a rank about a step, in order.
  const std::vector<Note>& told(std::uint32_t step, int rank) const {
    static const std::vector<Note> nothing;
    const auto found = notes_.find({step, rank});
    return found == notes_.end() ? nothing : found->second;
  }
  // The last step that a rank told of, or 0.
  std::uint32_t step_of(int rank) const {
    std::uint32_t last = 0;
    for (const auto& [at, notes] : notes_) {
      if (at.second == rank) last = std::max(last, at.first);
    }
    return last;
  }

 private:
  std::optional<Answer> answer(const sim::Actor& who, Report report, double now) override {
    if (report.step > caps_.steps) throw Error("there is no such step");
    auto& notes = notes_[{report.step, who.rank}];
    if (notes.size() >= caps_.reports) throw Error("of this step everything has been told");
    notes.push_back({now, std::move(report)});
    return Answer{{}, now};
  }

  Caps caps_;
  std::map<std::pair<std::uint32_t, int>, std::vector<Note>> notes_;
};

// Plays one case in which each rank does what its Case says, and the services see it.
template <typename Case>
std::optional<Played> play_served(CaseRunner& runner, const std::string& description,
                                  const std::vector<Case>& ranks,
                                  const std::vector<sim::Service*>& services,
                                  std::int64_t requests_max, const Situations& asked = {}) {
  CaseSetup setup;
  setup.situations.assign(asked.begin(), asked.end());
  if (ranks.size() == 13) setup.situations.push_back(Situation::rank_counts);
  setup.description = description;
  for (const Case& rank : ranks) setup.inputs.push_back(fields_to_bytes(rank));
  setup.schedule_seed = runner.draw();
  setup.limits.requests_max = requests_max;
  setup.services = services;
  return runner.play(setup);
}

// One rank in one step of a run: when it called, and what came of that. `run.reports` is a
// ReportedService in which a step begins with a call.
template <typename Run>
struct RankInStep {
  const Run& run;
  std::uint32_t step;
  int rank;

  const auto& told() const { return run.reports.told(step, rank); }
  double called_s() const { return told()[0].at_s; }
  const auto& outcome() const { return told()[1].report; }
  double outcome_s() const { return told()[1].at_s; }
};

// A rank reports what one of the orders says; one that does not come (view.mine().comes) nothing.
//   Throws  MalformedMessage when it reported anything else
template <typename View, typename... Orders>
void require_reports(const View& view, const Orders&... allowed) {
  using Order = std::common_type_t<Orders...>;
  std::vector<Order> orders{allowed...};
  if constexpr (requires { view.mine().comes; }) {
    if (!view.mine().comes) orders.assign(1, {});
  }
  std::vector<typename Order::value_type::value_type> seen;
  for (const auto& note : view.told()) seen.push_back(note.report.kind);
  require_order(view.name(), seen, orders);
}

// Finds what is wrong with one of them; view.name() is "rank 2 of 4, attempt 1".
template <typename View>
[[noreturn]] void fail(CaseRunner& runner, const Played& played, const View& view,
                       std::string cause, const std::string& message, std::string expected,
                       std::string seen, Verdict verdict = Verdict::wrong_answer) {
  runner.fail(played, {.verdict = verdict,
                       .cause = std::move(cause),
                       .message = text(view.name(), ": ", message),
                       .expected = std::move(expected),
                       .seen = std::move(seen),
                       .where = view.name()});
}

}  // namespace lockstep::grader
