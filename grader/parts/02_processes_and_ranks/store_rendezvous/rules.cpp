#include "grader/parts/02_processes_and_ranks/store_rendezvous/rules.hpp"

#include <algorithm>

#include "engine/base/ranks.hpp"
#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::store_rendezvous {
namespace {

using comm::Endpoint;
using Kind = MeetingReport::Kind;
// One rank's view of one meeting.
struct View : RankInStep<MeetingRun> {
  const Meeting& of(int other) const {
    return run.ranks[static_cast<std::size_t>(other)].meetings[step];
  }
  const Meeting& mine() const { return of(rank); }

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int other = 0; other < mine().size; ++other) {
      if (!of(other).comes) ranks.push_back(other);
    }
    return ranks;
  }
  std::vector<Endpoint> addresses() const {
    std::vector<Endpoint> all;
    for (int other = 0; other < mine().size; ++other) all.push_back(of(other).mine);
    return all;
  }
  double last_came_s() const {
    double last_s = 0;
    for (int other = 0; other < mine().size; ++other) {
      last_s = std::max(last_s, View{{run, step, other}}.called_s());
    }
    return last_s;
  }
  // The ranks that came when this one's time was over.
  std::vector<int> late() const {
    std::vector<int> ranks;
    const double deadline_s = called_s() + mine().timeout_s;
    for (int other = 0; other < mine().size; ++other) {
      if (View{{run, step, other}}.called_s() > deadline_s) ranks.push_back(other);
    }
    return ranks;
  }
  bool came_too_late() const {
    for (int other = 0; other < mine().size; ++other) {
      const std::vector<int> missed = View{{run, step, other}}.late();
      if (std::ranges::find(missed, rank) != missed.end()) return true;
    }
    return false;
  }
  std::string name() const {
    return text("rank ", rank, " of ", mine().size, ", attempt ", mine().attempt);
  }
};

[[noreturn]] void refuse_addresses(CaseRunner& runner, const Played& played, const View& view) {
  const auto expected = view.addresses();
  const auto& seen = view.outcome().addresses;
  if (seen.size() != expected.size()) {
    fail(runner, played, view, "wrong_length",
         text("it returned ", counted(std::ssize(seen), "address"), " for ",
              counted(std::ssize(expected), "rank")),
         counted(std::ssize(expected), "address"), counted(std::ssize(seen), "address"));
  }
  const auto [good, bad] = std::mismatch(expected.begin(), expected.end(), seen.begin());
  const auto at = good - expected.begin();
  std::string cause = "wrong_address";
  std::string why = ". No rank in this meeting has that address";
  const auto owner = std::find(expected.begin(), expected.end(), *bad);
  if (owner != expected.end()) {
    cause = "anothers_address";
    why = text(". It is rank ", owner - expected.begin(), "'s");
  }
  fail(runner, played, view, cause,
       text("entry ", at, " is ", text_of(*bad), " where ", text_of(*good), " was expected", why),
       text_of(*good), text_of(*bad));
}

void check_all_came(CaseRunner& runner, const Played& played, const View& view) {
  const MeetingReport& report = view.outcome();
  const double last_s = view.last_came_s();
  const std::vector<int> late = view.late();
  // When the time of another rank was over before this one came, that one may have given up.
  if (view.came_too_late() && report.kind != Kind::returned) return;
  if (!late.empty() && report.kind == Kind::ranks_missing) {
    if (report.missing == late) return;
    fail(runner, played, view, report.missing.empty() ? "names_nobody" : "wrong_ranks_named",
         text(list_of_ranks(late), " came after the deadline, at ", last_s,
              " s, and before the error was thrown; the error names ",
              report.missing.empty() ? "no rank. If no key is missing any more, nothing is wrong"
                                     : list_of_ranks(report.missing)),
         text("all addresses, or RanksMissing with ", list_of_ranks(late)),
         report.missing.empty() ? "no rank" : list_of_ranks(report.missing));
  }
  if (!late.empty() && report.kind != Kind::returned) {
    fail(runner, played, view, "names_nobody",
         text(list_of_ranks(late), " came after the deadline, at ", last_s,
              " s, and before the error was thrown; the error names no rank: \"", report.what,
              "\". If no key is missing any more, nothing is wrong"),
         text("all addresses, or RanksMissing with ", list_of_ranks(late)), report.what);
  }
  if (report.kind != Kind::returned) {
    fail(runner, played, view, "gave_up",
         text("all ranks arrived, the last at ", last_s, " s, and there was time until ",
              view.called_s() + view.mine().timeout_s, " s; but at ", view.outcome_s(),
              " s it threw \"", report.what,
              "\"; get() waits as long as the store does, and wait() "
              "takes a timeout"),
         "all addresses", report.what);
  }
  if (report.addresses != view.addresses()) refuse_addresses(runner, played, view);
  const double slack_s = 2 * static_cast<double>(store_calls_max(view.mine().size)) * store_call_s;
  if (view.outcome_s() <= last_s + slack_s) return;
  fail(runner, played, view, "returned_late",
       text("the last rank arrived at ", last_s, " s, but the call returned at ", view.outcome_s(),
            " s"),
       text("soon after ", last_s, " s"), text(view.outcome_s(), " s"));
}

void check_missing(CaseRunner& runner, const Played& played, const View& view) {
  const MeetingReport& report = view.outcome();
  const std::string expected = text("RanksMissing with ", list_of_ranks(view.missing()));
  if (report.kind == Kind::returned) {
    fail(runner, played, view, "missing_unnoticed",
         text(list_of_ranks(view.missing()), " never arrived, but the call returned ",
              counted(std::ssize(report.addresses), "address")),
         expected, "addresses");
  }
  if (report.kind != Kind::ranks_missing) {
    fail(runner, played, view, "missing_unnamed",
         text(list_of_ranks(view.missing()),
              " never arrived, but the error does not name the missing ranks: "
              "\"",
              report.what, "\". Its reader must know which machine to check"),
         expected, report.what);
  }
  if (report.missing != view.missing()) {
    fail(runner, played, view, "wrong_ranks_named",
         text(list_of_ranks(view.missing()), " never arrived, but the error names ",
              list_of_ranks(report.missing)),
         expected, list_of_ranks(report.missing));
  }
  const double deadline_s = view.called_s() + view.mine().timeout_s;
  const double slack_s = 2 * static_cast<double>(store_calls_max(view.mine().size)) * store_call_s;
  const double at_s = view.outcome_s();
  if (at_s >= deadline_s && at_s <= deadline_s + slack_s) return;
  fail(runner, played, view, at_s < deadline_s ? "threw_early" : "threw_late",
       text("it was called at ", view.called_s(), " s with a timeout of ", view.mine().timeout_s,
            " s and threw at ", at_s, " s",
            at_s < deadline_s ? "" : ": the timeout covers the whole call, not each wait"),
       text(deadline_s, " s"), text(at_s, " s"));
}

// The store is lost before all ranks have arrived: no rank can tell which ranks are missing.
void check_lost(CaseRunner& runner, const Played& played, const View& view) {
  const MeetingReport& report = view.outcome();
  const std::string expected = "the CommError of the store";
  if (report.kind != Kind::comm_error) {
    const bool blames = report.kind == Kind::ranks_missing;
    fail(runner, played, view, blames ? "blames_a_rank" : "loss_unnoticed",
         text("the store was lost at ", view.run.lost_s, " s, but the call ",
              blames ? text("names ", list_of_ranks(report.missing),
                            " as missing, which it cannot know without the store")
              : report.kind == Kind::returned
                  ? text("returned ", counted(std::ssize(report.addresses), "address"))
                  : text("threw \"", report.what, "\""),
              ". Let the store's error reach the caller unchanged"),
         expected, blames ? "RanksMissing" : report.what);
  }
  const double from_s = std::max(view.called_s(), view.run.lost_s), at_s = view.outcome_s();
  const double slack_s = 2 * static_cast<double>(store_calls_max(view.mine().size)) * store_call_s;
  if (at_s >= from_s && at_s <= from_s + slack_s) return;
  fail(runner, played, view, at_s < from_s ? "threw_early" : "threw_late",
       text("the store was lost at ", view.run.lost_s, " s, but the call threw ",
            at_s < from_s ? "already" : "only", " at ", at_s, " s"),
       text(from_s, " s"), text(at_s, " s"));
}

// A name, a number, an IPv6 number: each with a port of its own.
Endpoint drawn_address(std::uint64_t salt, std::size_t meeting, int rank) {
  const std::uint64_t bits =
      keyed_bits(keyed_bits(salt, meeting), static_cast<std::uint64_t>(rank));
  const auto number = static_cast<unsigned>(bits >> 40);
  Endpoint address{text("node-", number), static_cast<int>(1024 + bits % 60000)};
  if (bits % 3 == 1) address.host = text("10.0.", number % 200, ".", number % 251);
  if (bits % 3 == 2) address.host = text("fe80::", number % 9973);
  return address;
}

template <typename Check>
void for_each_view(const MeetingRun& run, const Check& check) {
  const ReportOrder<Kind> call{{Kind::calls},
                               {Kind::returned, Kind::ranks_missing, Kind::usage_error,
                                Kind::comm_error, Kind::other_error}};
  std::vector<View> views;
  for (std::uint32_t step = 0; step < run.ranks.front().meetings.size(); ++step) {
    for (int rank = 0; std::cmp_less(rank, run.ranks.size()); ++rank) {
      const View view{{run, step, rank}};
      require_reports(view, call);
      if (view.mine().comes) views.push_back(view);
    }
  }
  for (const View& view : views) check(view);
}

}  // namespace

MeetingCase MeetingProblem::case_of(std::uint64_t salt, int rank) const {
  MeetingCase one{.store_timeout_s = store_timeout_s, .meetings = {}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const MeetingPlan& plan = plans[i];
    const int size = size_of(plan);
    Meeting& m = one.meetings.emplace_back(Meeting{.attempt = plan.attempt,
                                                   .size = size,
                                                   .mine = drawn_address(salt, i, rank),
                                                   .timeout_s = plan.timeout_s});
    m.comes = rank < size && std::ranges::find(plan.missing, rank) == plan.missing.end();
    if (rank >= size) continue;
    const auto places = keyed_order(size, keyed_bits(salt, 100 + i));
    m.after_s = plan.apart_s * static_cast<double>(places[static_cast<std::size_t>(rank)]);
    if (const auto late = plan.late.find(rank); late != plan.late.end()) m.after_s = late->second;
  }
  return one;
}

std::vector<MeetingCase> MeetingProblem::ranks_of(std::uint64_t salt) const {
  std::vector<MeetingCase> all;
  for (int rank = 0; rank < members.size(); ++rank) all.push_back(case_of(salt, rank));
  return all;
}

std::string MeetingProblem::description() const {
  std::string words = members.description();
  for (const MeetingPlan& plan : plans) {
    if (plans.size() > 1) words += text(", attempt ", plan.attempt);
    if (plan.apart_s > 0) words += text(", ", plan.apart_s, " s apart");
    if (!plan.missing.empty()) words += text(", ", plan.missing.size(), " missing");
    if (plan.late.size() != 1) continue;
    words += text(", rank ", plan.late.begin()->first, " ", plan.late.begin()->second, " s late");
  }
  if (store_timeout_s < 30) words += text(", get() waits for ", store_timeout_s, " s");
  if (lost_s < sim::Service::forever) words += text(", the store is lost at ", lost_s, " s");
  return words;
}

std::optional<sim::Service::Answer> LosableStore::serve(const sim::Actor& who,
                                                        const sim::Request& request, double now) {
  if (now >= lost_s_) throw Error("the store no longer answers");
  return store.serve(who, request, now);
}

double LosableStore::deadline_s(const sim::Request& request, double asked_s) const {
  return std::min(std::max(asked_s, lost_s_), store.deadline_s(request, asked_s));
}

sim::Service::Answer LosableStore::expire(const sim::Actor& who, const sim::Request& request,
                                          double now) {
  if (now >= lost_s_) throw Error("the store no longer answers");
  return store.expire(who, request, now);
}

void check_outcomes(CaseRunner& runner, const Played& played, const MeetingRun& run) {
  for_each_view(run, [&](const View& view) {
    if (run.lost_s < sim::Service::forever) {
      check_lost(runner, played, view);
    } else if (view.missing().empty()) {
      check_all_came(runner, played, view);
    } else {
      check_missing(runner, played, view);
    }
  });
}

void check_calls(CaseRunner& runner, const Played& played, const MeetingRun& run) {
  for_each_view(run, [&](const View& view) {
    const auto& log = run.store.log();
    const auto calls =
        std::count_if(log.begin(), log.end(), [&](const sim::StoreService::Record& record) {
          return record.rank == view.rank && record.answered_s >= view.called_s() &&
                 record.answered_s <= view.outcome_s();
        });
    const std::size_t allowed = store_calls_max(view.mine().size);
    if (std::cmp_less_equal(calls, allowed)) return;
    fail(runner, played, view, "too_many_calls",
         text("it called the store ", calls, " times; 2N+2 = ", allowed,
              " are enough. One server answers all N ranks, so it serves each call N times. wait() "
              "takes all keys at once"),
         text("at most ", allowed, " calls"), counted(calls, "call"), Verdict::efficiency);
  });
}

}  // namespace lockstep::grader::store_rendezvous
