#include "grader/parts/02_processes_and_ranks/setup_distributed/view.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include "engine/base/ranks.hpp"

namespace lockstep::grader::setup_distributed {
namespace {

using Kind = SessionReport::Kind;

// Whether the text names the variable, and not only a longer one that ends or begins with it.
bool names(const std::string& text, const std::string& variable) {
  const auto in_a_name = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (auto at = text.find(variable); at != std::string::npos; at = text.find(variable, at + 1)) {
    if ((at == 0 || !in_a_name(at - 1)) && !in_a_name(at + variable.size())) return true;
  }
  return false;
}

int variables_named(const std::string& text) {
  int count = 0;
  for (const char* variable : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT",
                               "LOCKSTEP_STORE", "TORCHELASTIC_RESTART_COUNT"}) {
    count += names(text, variable);
  }
  return count;
}

void check_in_time(CaseRunner& runner, const Played& played, const View& view, double from_s) {
  const double at_s = view.outcome_s();
  if (at_s >= from_s && at_s <= from_s + view.slack_s()) return;
  fail(runner, played, view, at_s < from_s ? "too_early" : "too_late",
       text("it was called at ", view.called_s(), " s with a timeout of ", view.mine().timeout_s,
            " s, and threw at ", at_s, " s",
            at_s < from_s ? "" : ": the timeout covers the whole setup"),
       text(from_s, " s"), text(at_s, " s"));
}

void check_refused(CaseRunner& runner, const Played& played, const View& view) {
  const auto& [variable, damage] = view.run.damaged.at({view.step, view.rank});
  const SessionReport& report = view.outcome();
  const std::string expected = text("UsageError naming ", variable);
  if (report.kind == Kind::not_written) {
    fail(runner, played, view, "stub", "the variables are not read yet", expected, "",
         Verdict::unsolved);
  }
  if (report.kind != Kind::usage_error) {
    fail(runner, played, view, "accepted",
         text(damage, ", but ", words_of(report), " where a ", expected, " was expected"), expected,
         words_of(report));
  }
  if (!names(report.what, variable) || variables_named(report.what) > 2) {
    fail(runner, played, view, "variable_unnamed",
         text(damage, ", but the error does not name ", variable, ": \"", report.what, "\""),
         expected, report.what);
  }
  check_in_time(runner, played, view, view.called_s());
}

void check_missing(CaseRunner& runner, const Played& played, const View& view) {
  const SessionReport& report = view.outcome();
  const std::string who = list_of_ranks(view.missing());
  const std::string expected = text("RanksMissing with ", list_of_ranks(view.named()));
  if (view.loses_the_store() && report.kind == Kind::comm_error) {
    return check_in_time(runner, played, view, View{view.run, view.step, 0}.deadline_s());
  }
  if (report.kind != Kind::ranks_missing) {
    fail(runner, played, view,
         report.kind == Kind::has_session ? "missing_unnoticed" : "missing_unnamed",
         text(who, " never arrived, but ", words_of(report), " where ", expected, " was expected"),
         expected, words_of(report));
  }
  if (report.missing != view.named()) {
    fail(runner, played, view, "wrong_ranks_named",
         text(who, " never arrived, but the error names ", list_of_ranks(report.missing)), expected,
         list_of_ranks(report.missing));
  }
  check_in_time(runner, played, view, view.deadline_s());
}

// The variables make sense, and nothing else is asked for.
void check_taken(CaseRunner& runner, const Played& played, const View& view) {
  const SessionReport& report = view.outcome();
  if (report.kind != Kind::usage_error && report.kind != Kind::other_error) return;
  std::string variables;
  for (const auto& [name, value] : view.mine().variables) {
    variables += text(variables.empty() ? "" : ", ", name, "=", value);
  }
  fail(runner, played, view, "refused",
       text("all variables are valid (", variables, "), but ", words_of(report)),
       "no error about the variables", words_of(report));
}

// One rank's group fails while it is made. The others wait for it until their time is up.
void check_lost(CaseRunner& runner, const Played& played, const View& view) {
  const SessionReport& report = view.outcome();
  const std::string lost = text("make_group failed on rank ", view.run.lost);
  if (report.kind != Kind::comm_error) {
    fail(
        runner, played, view,
        report.kind == Kind::has_session && !report.has_group ? "half_a_session" : "loss_unnoticed",
        text(lost, ", but ",
             report.kind == Kind::has_session && !report.has_group
                 ? "its session has no group: let the error of make_group reach the caller"
                 : words_of(report)),
        "the CommError of make_group", words_of(report));
  }
  if (view.rank == view.run.lost && view.in_this_step(view.run.machines.groups).empty()) {
    fail(runner, played, view, "no_group", "it threw before it made a group on its machine",
         "the CommError of make_group", words_of(report));
  }
  const double until_s =
      view.rank == view.run.lost ? view.last_came_s() : std::max(view.deadline_s(), 0.0);
  if (view.outcome_s() <= until_s + view.slack_s()) return;
  fail(runner, played, view, "too_late",
       text(lost, "; it was called at ", view.called_s(), " s with a timeout of ",
            view.mine().timeout_s, " s, and threw at ", view.outcome_s(),
            " s: the timeout covers the whole setup"),
       text(until_s, " s"), text(view.outcome_s(), " s"));
}

// The launcher's store does not answer: all ranks may be here, and none is missing.
void check_no_store(CaseRunner& runner, const Played& played, const View& view) {
  const SessionReport& report = view.outcome();
  if (report.kind != Kind::comm_error) {
    fail(runner, played, view, "blames_a_rank",
         text("no server answers at LOCKSTEP_STORE, the launcher's store, but ", words_of(report),
              ": no rank is at fault. Let the error of connect_store reach the caller"),
         "the CommError of connect_store", words_of(report));
  }
  if (view.in_this_step(view.run.machines.connects).empty()) {
    fail(runner, played, view, "no_store",
         "it threw, but it never looked for the store at LOCKSTEP_STORE", "a call of connect_store",
         "none");
  }
  check_in_time(runner, played, view, view.deadline_s());
}

// A barrier is the last thing before a session is handed out, so there is one for each. (A rank
// that is alone may do without.)
void check_barriers(CaseRunner& runner, const Played& played, const std::vector<View>& whole) {
  if (whole.empty() || whole.front().size() == 1) return;
  std::set<std::uint32_t> steps;
  for (const View& view : whole) steps.insert(view.step);
  const std::size_t barriers = played.counters.collectives.size();
  if (barriers >= steps.size()) return;
  const std::string expected = text(steps.size(), steps.size() == 1 ? " barrier" : " barriers");
  fail(runner, played, whole.front(), "no_barrier",
       text("the ranks were set up ", steps.size() == 1 ? "once" : text(steps.size(), " times"),
            ", but their group had ", barriers == 0 ? "no" : text(barriers), " barriers. Without ",
            "a barrier a rank starts work, or leaves, while others are still being set up"),
       expected, text(barriers));
}

}  // namespace

std::string words_of(const SessionReport& report) {
  if (report.kind == Kind::has_session) return "the call returned a session";
  if (report.kind == Kind::not_written) return "the part is not finished";
  return text("the call threw \"", report.what, "\"");
}

void check_setup(CaseRunner& runner, const Played& played, const SetupRun& run) {
  const ReportOrder<Kind> session{{Kind::calls}, {Kind::has_session}, {Kind::closed}};
  const ReportOrder<Kind> error{{Kind::calls},
                                {Kind::ranks_missing, Kind::usage_error, Kind::comm_error,
                                 Kind::other_error, Kind::not_written}};
  std::vector<View> whole;
  // What failed first is the reason why others failed later.
  std::map<std::tuple<std::uint32_t, double, int>, View> views;
  for (std::uint32_t step = 0; step < run.ranks.front().size(); ++step) {
    for (int rank = 0; std::cmp_less(rank, run.ranks.size()); ++rank) {
      const View view{{run, step, rank}};
      require_reports(view, session, error);
      if (!view.mine().comes) continue;
      views.emplace(std::tuple(step, view.outcome_s(), rank), view);
    }
  }
  for (const auto& [when, view] : views) {
    if (view.damaged(view.rank)) {
      check_refused(runner, played, view);
    } else if (run.asks_for == Written::variables) {
      check_taken(runner, played, view);
      continue;
    } else if (run.lost >= 0 && view.step == 0) {
      check_lost(runner, played, view);
    } else if (run.store == SetupRun::Store::silent) {
      check_no_store(runner, played, view);
    } else if (!view.missing().empty()) {
      check_missing(runner, played, view);
    } else {
      whole.push_back(view);
      check_session(runner, played, view);
    }
    check_hosting(runner, played, view);
  }
  if (run.asks_for == Written::variables) return;
  if (run.asks_for == Written::all) check_barriers(runner, played, whole);
  if (run.machines.served.empty()) return;
  fail(runner, played, views.begin()->second, "left_open",
       "the store is still served after all sessions have ended: the port stays in use", "closed",
       "open");
}

}  // namespace lockstep::grader::setup_distributed
