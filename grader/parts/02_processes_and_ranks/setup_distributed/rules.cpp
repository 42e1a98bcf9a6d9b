#include "grader/parts/02_processes_and_ranks/setup_distributed/rules.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include "engine/base/ranks.hpp"

namespace lockstep::grader::setup_distributed {
namespace {

using launch::Backend;
using Kind = SessionReport::Kind;
using Notes = std::vector<SessionsService::Note>;

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

// One rank's view of one step.
struct View {
  const SetupRun& run;
  std::uint32_t step;
  int rank;

  const SetupStep& of(int other) const { return run.ranks[static_cast<std::size_t>(other)][step]; }
  const SetupStep& mine() const { return of(rank); }
  int number(const char* variable) const { return std::stoi(mine().variables.at(variable)); }
  int size() const { return static_cast<int>(run.ranks.size()); }
  const Notes& notes() const { return run.sessions.notes.at({step, rank}); }
  const SessionReport& outcome() const { return notes()[1].report; }
  double called_s() const { return notes()[0].at_s; }
  double outcome_s() const { return notes()[1].at_s; }
  bool damaged(int who) const { return run.damaged.contains({step, who}); }

  // Who can never be set up in this step.
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int other = 0; other < size(); ++other) {
      if (!of(other).comes || damaged(other)) ranks.push_back(other);
    }
    return ranks;
  }
  bool launcher_serves() const { return mine().variables.contains("LOCKSTEP_STORE"); }
  // Who is to be named: where rank 0 should serve the store, nobody else can be told.
  std::vector<int> named() const {
    const auto ranks = missing();
    if (!launcher_serves() && !ranks.empty() && ranks.front() == 0) return {0};
    return ranks;
  }
  double deadline_s() const { return called_s() + mine().timeout_s; }
  // Rank 0 gives up before this rank does, and the store that it serves goes with it: then nobody
  // can be told any more who is missing.
  bool loses_the_store() const {
    if (rank == 0 || launcher_serves() || !of(0).comes || damaged(0)) return false;
    return View{run, step, 0}.deadline_s() < deadline_s();
  }
  double last_came_s() const {
    double last_s = 0;
    for (int other = 0; other < size(); ++other) {
      last_s = std::max(last_s, View{run, step, other}.called_s());
    }
    return last_s;
  }
  Backend backend() const {
    for (int other = 0; other < size(); ++other) {
      if (of(other).gpus <= View{run, step, other}.number("LOCAL_RANK")) return Backend::gloo;
    }
    return Backend::nccl;
  }
  double slack_s() const { return 10 * (size() + 2) * setup_call_s; }
  std::string name() const {
    return text("rank ", rank, " of ", size(), step == 0 ? "" : text(", session ", step + 1));
  }
};

[[noreturn]] void fail(Bench& bench, const Played& played, const View& view, std::string cause,
                       std::string message, std::string expected, std::string seen,
                       sim::Verdict verdict = sim::Verdict::wrong_answer) {
  Failure failure;
  failure.verdict = verdict;
  failure.cause = std::move(cause);
  failure.message = view.name() + ": " + std::move(message);
  failure.expected = std::move(expected);
  failure.seen = std::move(seen);
  failure.where = view.name();
  bench.fail(played, std::move(failure));
}

std::string words_of(const SessionReport& report) {
  if (report.kind == Kind::has_session) return "it returned a session";
  return text("it threw \"", report.what, "\"");
}

void check_in_time(Bench& bench, const Played& played, const View& view, double from_s) {
  const double at_s = view.outcome_s();
  if (at_s >= from_s && at_s <= from_s + view.slack_s()) return;
  fail(bench, played, view, at_s < from_s ? "too_early" : "too_late",
       text("it was called at ", view.called_s(), " s with a timeout of ", view.mine().timeout_s,
            " s, and threw at ", at_s, " s",
            at_s < from_s ? "" : ": the time is that of all it does together"),
       text(from_s, " s"), text(at_s, " s"));
}

void check_refused(Bench& bench, const Played& played, const View& view) {
  const auto& [variable, damage] = view.run.damaged.at({view.step, view.rank});
  const SessionReport& report = view.outcome();
  const std::string expected = text("UsageError naming ", variable);
  if (report.kind != Kind::usage_error) {
    fail(bench, played, view, "accepted",
         text(damage, ", and ", words_of(report), " where a ", expected, " was expected"), expected,
         words_of(report));
  }
  if (!names(report.what, variable) || variables_named(report.what) > 2) {
    fail(bench, played, view, "variable_unnamed",
         text(damage, ", and its error does not say that it is ", variable, ": \"", report.what,
              "\""),
         expected, report.what);
  }
  check_in_time(bench, played, view, view.called_s());
}

void check_missing(Bench& bench, const Played& played, const View& view) {
  const SessionReport& report = view.outcome();
  const std::string who = list_of_ranks(view.missing());
  const std::string expected = text("RanksMissing with ", list_of_ranks(view.named()));
  if (view.loses_the_store() && report.kind == Kind::comm_error) {
    return check_in_time(bench, played, view, View{view.run, view.step, 0}.deadline_s());
  }
  if (report.kind != Kind::ranks_missing) {
    fail(bench, played, view,
         report.kind == Kind::has_session ? "missing_unnoticed" : "missing_unnamed",
         text(who, " never came, and ", words_of(report), " where ", expected, " was expected"),
         expected, words_of(report));
  }
  if (report.missing != view.named()) {
    fail(bench, played, view, "wrong_ranks_named",
         text(who, " never came, and it names ", list_of_ranks(report.missing)), expected,
         list_of_ranks(report.missing));
  }
  check_in_time(bench, played, view, view.deadline_s());
}

// The launcher's store does not answer: all may be here, and nobody is missing.
void check_no_store(Bench& bench, const Played& played, const View& view) {
  const SessionReport& report = view.outcome();
  if (report.kind != Kind::comm_error) {
    fail(bench, played, view, "blames_a_rank",
         text("nobody answers at LOCKSTEP_STORE, which is the launcher's, and ", words_of(report),
              ": that is no rank's fault. The error of connect_store says what is wrong"),
         "the CommError of connect_store", words_of(report));
  }
  check_in_time(bench, played, view, view.deadline_s());
}

struct Claim {
  const char* what;
  int seen, expected;
  const char* hint;
};

void check_place(Bench& bench, const Played& played, const View& view, const char* where,
                 const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    if (claim.seen == claim.expected) continue;
    fail(bench, played, view, text("wrong_", claim.what),
         text(where, " has ", claim.what, " ", claim.seen, " where ", claim.expected,
              " was expected", claim.hint),
         text(claim.what, " ", claim.expected), text(claim.what, " ", claim.seen));
  }
}

// The group that this rank asked for in this step.
const MachinesService::Asked* group_of(const View& view) {
  for (const auto& asked : view.run.machines.groups) {
    if (asked.rank == view.rank && asked.at_s >= view.called_s() &&
        asked.at_s <= view.outcome_s()) {
      return &asked;
    }
  }
  return nullptr;
}

void check_session(Bench& bench, const Played& played, const View& view) {
  const SessionReport& report = view.outcome();
  if (report.kind != Kind::has_session) {
    if (view.run.machines.apart) {
      fail(bench, played, view, "ranks_disagree",
           text(*view.run.machines.apart, ": they wait for each other in different groups. ",
                view.step > 0 && view.launcher_serves()
                    ? "The store still holds what the attempt before has written: do the keys say "
                      "of which attempt they are?"
                    : "A choice that all must share cannot be made by each alone"),
           "one group of all ranks", *view.run.machines.apart, sim::Verdict::mismatch);
    }
    fail(bench, played, view, "not_set_up",
         text("all ranks came, the last at ", view.last_came_s(), " s, and there was time until ",
              view.deadline_s(), " s; but at ", view.outcome_s(), " s ", words_of(report)),
         "a session", words_of(report));
  }
  const int device = view.number("LOCAL_RANK");
  const char* devices =
      ": a device is counted on its own machine. LOCAL_RANK is what tells the ranks of one machine "
      "apart";
  check_place(bench, played, view, "its session",
              {{"rank", report.rank, view.rank, ""},
               {"size", report.size, view.size(), ""},
               {"device", report.device, device, devices}});
  if (!report.has_store || !report.has_group) {
    fail(bench, played, view, "half_a_session",
         text("its session has no ", report.has_store ? "group" : "store"), "store and group", "");
  }
  const auto* asked = group_of(view);
  if (asked == nullptr) {
    fail(bench, played, view, "no_group", "it made no group on its machine", "one group", "none");
  }
  check_place(bench, played, view, "the group it made",
              {{"rank", asked->group.rank, view.rank, ""},
               {"size", asked->group.size, view.size(), ""},
               {"device", asked->group.device, device, devices}});
  const Backend right = view.backend();
  for (const Backend seen : {asked->group.backend, report.backend}) {
    if (seen == right) continue;
    fail(bench, played, view, "wrong_backend",
         text("the backend is ", name_of(seen), " where ", name_of(right), " was expected: ",
              right == Backend::nccl ? "every rank has a GPU of its own"
                                     : "some rank has no GPU of its own, here or on another "
                                       "machine"),
         name_of(right), name_of(seen));
  }
  const double last_s = view.last_came_s();
  if (view.outcome_s() > last_s + view.slack_s()) {
    fail(
        bench, played, view, "late",
        text("the last rank came at ", last_s, " s, and it was set up at ", view.outcome_s(), " s"),
        text("soon after ", last_s, " s"), text(view.outcome_s(), " s"));
  }
}

// Rank 0, once in each step, where it should. (Who finds a bad variable may have begun already.)
void check_hosting(Bench& bench, const Played& played, const View& view) {
  if (view.damaged(view.rank)) return;
  std::vector<MachinesService::Hosted> mine;
  for (const auto& hosted : view.run.machines.hosted) {
    if (hosted.rank == view.rank && hosted.at_s >= view.called_s() &&
        hosted.at_s <= view.outcome_s()) {
      mine.push_back(hosted);
    }
  }
  const bool right = view.rank == 0 && !view.launcher_serves();
  if (mine.size() != (right ? 1 : 0)) {
    fail(bench, played, view, "hosts",
         text("it began to serve ", mine.size(), mine.size() == 1 ? " store" : " stores",
              right ? " where rank 0 serves one"
                    : " where it should serve none: there is one store, and all use it"),
         right ? "one store" : "none", text(mine.size()));
  }
  if (!right) return;
  const comm::Endpoint at{view.mine().variables.at("MASTER_ADDR"), view.number("MASTER_PORT")};
  if (mine.front().at == at) return;
  fail(bench, played, view, "hosts_elsewhere",
       text("it serves the store at ", sim::printable(text_of(mine.front().at), 80),
            " where MASTER_ADDR and MASTER_PORT say ", text_of(at)),
       text_of(at), text_of(mine.front().at));
}

// A player that is not its adapter may have told less than that.
void require_notes(const View& view) {
  const auto found = view.run.sessions.notes.find({view.step, view.rank});
  const std::size_t seen = found == view.run.sessions.notes.end() ? 0 : found->second.size();
  const bool session = seen > 1 && found->second[1].report.kind == Kind::has_session;
  if (seen == (session ? 3 : 2)) return;
  throw MalformedMessage(text(view.name(), " did not say what came of its session"));
}

// A barrier is the last thing before a session is handed out, so there is one for each. (A rank
// that is alone may do without.)
void check_barriers(Bench& bench, const Played& played, const std::vector<View>& whole) {
  if (whole.empty() || whole.front().size() == 1) return;
  std::set<std::uint32_t> steps;
  for (const View& view : whole) steps.insert(view.step);
  const std::size_t barriers = played.counters.collectives.size();
  if (barriers >= steps.size()) return;
  const std::string expected = text(steps.size(), steps.size() == 1 ? " barrier" : " barriers");
  fail(bench, played, whole.front(), "no_barrier",
       text("the ranks were set up ", steps.size() == 1 ? "once" : text(steps.size(), " times"),
            ", and their group had ", barriers == 0 ? "no" : text(barriers), " barriers. Without ",
            "one a rank begins to work, or leaves, while others are still being set up"),
       expected, text(barriers));
}

}  // namespace

void check_setup(Bench& bench, const Played& played, const SetupRun& run) {
  std::vector<View> whole;
  // What failed first is the reason why others failed later.
  std::map<std::tuple<std::uint32_t, double, int>, View> views;
  for (std::uint32_t step = 0; step < run.ranks.front().size(); ++step) {
    for (int rank = 0; std::cmp_less(rank, run.ranks.size()); ++rank) {
      const View view{run, step, rank};
      if (!view.mine().comes) continue;
      require_notes(view);
      views.emplace(std::tuple(step, view.outcome_s(), rank), view);
    }
  }
  for (const auto& [when, view] : views) {
    if (view.damaged(view.rank)) {
      check_refused(bench, played, view);
    } else if (run.store == SetupRun::Store::silent) {
      check_no_store(bench, played, view);
    } else if (!view.missing().empty()) {
      check_missing(bench, played, view);
    } else {
      whole.push_back(view);
      check_session(bench, played, view);
    }
    check_hosting(bench, played, view);
  }
  check_barriers(bench, played, whole);
  if (run.machines.served.empty()) return;
  fail(bench, played, views.begin()->second, "left_open",
       "the store is still served when all sessions are over: the port stays in use", "closed",
       "open");
}

}  // namespace lockstep::grader::setup_distributed
