#include "grader/parts/02_processes_and_ranks/setup_distributed/view.hpp"

#include <map>

#include "engine/sim/wire/printable.hpp"

namespace lockstep::grader::setup_distributed {
namespace {

using launch::Backend;
using Kind = SessionReport::Kind;

struct Claim {
  const char* what;
  int seen, expected;
  const char* hint;
};

void check_place(CaseRunner& runner, const Played& played, const View& view, const char* where,
                 const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    if (claim.seen == claim.expected) continue;
    fail(runner, played, view, text("wrong_", claim.what),
         text(where, " has ", claim.what, " ", claim.seen, " where ", claim.expected,
              " was expected", claim.hint),
         text(claim.what, " ", claim.expected), text(claim.what, " ", claim.seen));
  }
}

// A key that two ranks have written: their numbers and those of the attempts run into each other.
std::string shared_key(const View& view) {
  std::map<std::string, int> written_by;
  for (const auto& record : view.run.store_service.log()) {
    if (record.call.kind != sim::StoreCall::Kind::set) continue;
    const int first = written_by.emplace(record.call.key, record.rank).first->second;
    if (first == record.rank) continue;
    return text("Key \"", sim::printable(record.call.key, 80), "\" was written by rank ", first,
                " and later by rank ", record.rank,
                ": put a separator between attempt and rank in the key");
  }
  return {};
}

[[noreturn]] void fail_apart(CaseRunner& runner, const Played& played, const View& view) {
  const bool again = view.step > 0 && view.launcher_serves();
  const std::string shared = again ? shared_key(view) : "";
  const char* why = again ? "The store still holds the keys of the previous attempt: does each key "
                            "contain the attempt?"
                          : "A rank cannot make a shared choice alone";
  fail(runner, played, view, shared.empty() ? "ranks_disagree" : "keys_run_together",
       text(*view.run.machines.apart, ": they wait for each other in different groups. ",
            shared.empty() ? why : shared),
       "one group of all ranks", *view.run.machines.apart, Verdict::mismatch);
}

// Says where it looked for the store, if not where it was told.
std::string looked_elsewhere(const View& view) {
  const comm::Endpoint right = view.store();
  for (const auto& connected : view.in_this_step(view.run.machines.connects)) {
    const comm::Endpoint at = connected.place();
    if (at == right) continue;
    const bool cut = at.host != right.host && at.host == right.host.substr(0, right.host.find(':'));
    return text(
        ". It looked for the store at ", sim::printable(text_of(at), 80), ", but ",
        view.launcher_serves() ? "LOCKSTEP_STORE says " : "MASTER_ADDR and MASTER_PORT say ",
        text_of(right),
        cut ? ": the host was cut at its first colon; an IPv6 address has several, and the port "
              "follows the last one"
            : "");
  }
  return {};
}

// Says that a rank which is not to serve a store tried to, if so it did.
std::string served_too(const View& view, const std::string& ended) {
  if (view.rank == 0 || ended.find("cannot serve a store") == std::string::npos) return {};
  return text(". Rank 0 alone serves a store, at MASTER_ADDR, whichever machines there are; rank ",
              view.rank, " connects to it");
}

// Says which rank has no GPU if the world's ranks are counted, not those of a machine.
std::string counts_by_rank(const View& view) {
  for (int other = 0; other < view.size(); ++other) {
    const int gpus = view.of(other).gpus;
    if (gpus > other) continue;
    const View there{{view.run, view.step, other}};
    return text(". Rank ", other, " is number ", there.number("LOCAL_RANK"),
                " of its machine, which has ", gpus, gpus == 1 ? " GPU" : " GPUs",
                ": LOCAL_RANK says whether it has one, not RANK");
  }
  return {};
}

// Parts that may still be missing are not asked for.
bool may_stop(const View& view) {
  return view.run.asks_for != Written::all && view.outcome().kind == Kind::not_written;
}

void check_group(CaseRunner& runner, const Played& played, const View& view) {
  const SessionReport& report = view.outcome();
  const auto groups = view.in_this_step(view.run.machines.groups);
  if (groups.empty() && may_stop(view)) {
    fail(runner, played, view, "stub", "the group is not made yet", "a group", "none",
         Verdict::unsolved);
  }
  if (groups.empty()) {
    fail(runner, played, view, "no_group", "it made no group on its machine", "one group", "none");
  }
  const MachinesService::ServedRequest& asked = groups.front();
  const int device = view.number("LOCAL_RANK");
  const char* devices =
      ": devices are numbered per machine. LOCAL_RANK tells the ranks of one machine apart";
  if (report.kind == Kind::has_session) {
    check_place(runner, played, view, "its session",
                {{"rank", report.rank, view.rank, ""},
                 {"size", report.size, view.size(), ""},
                 {"device", report.device, device, devices}});
  }
  check_place(runner, played, view, "the group it made",
              {{"rank", asked.call.rank, view.rank, ""},
               {"size", asked.call.size, view.size(), ""},
               {"device", asked.call.device, device, devices}});
  const Backend right = view.backend();
  const Backend told = report.kind == Kind::has_session ? report.backend : right;
  for (const Backend seen : {asked.call.backend, told}) {
    if (seen == right) continue;
    fail(runner, played, view, "wrong_backend",
         text("the backend is ", name_of(seen), " where ", name_of(right), " was expected: ",
              right == Backend::nccl
                  ? text("every rank has a GPU of its own", counts_by_rank(view))
                  : "some rank has no GPU of its own, on this machine or another: one whose "
                    "LOCAL_RANK is not below the number of GPUs of its machine"),
         name_of(right), name_of(seen));
  }
  if (view.run.asks_for != Written::all) return;
  const double left_s = view.deadline_s() - asked.at_s;
  if (asked.call.timeout_s <= left_s + view.slack_s()) return;
  fail(runner, played, view, "whole_time_again",
       text("it gave the group ", asked.call.timeout_s, " s at ", asked.at_s, " s, when ", left_s,
            " s were left of its ", view.mine().timeout_s,
            " s: each wait may use only what is left of the whole timeout"),
       text(left_s, " s"), text(asked.call.timeout_s, " s"));
}

}  // namespace

void check_session(CaseRunner& runner, const Played& played, const View& view) {
  const SessionReport& report = view.outcome();
  if (report.kind != Kind::has_session && !may_stop(view)) {
    if (view.run.machines.apart) fail_apart(runner, played, view);
    fail(runner, played, view, "not_set_up",
         text("all ranks arrived, the last at ", view.last_came_s(),
              " s, and there was time until ", view.deadline_s(), " s; but at ", view.outcome_s(),
              " s ", words_of(report), served_too(view, words_of(report)), looked_elsewhere(view)),
         "a session", words_of(report));
  }
  if (report.kind == Kind::has_session && (!report.has_store || !report.has_group)) {
    fail(runner, played, view, "half_a_session",
         text("its session has no ", report.has_store ? "group" : "store",
              ": if a store or a group cannot be made, let the error reach the caller"),
         "store and group", "");
  }
  check_group(runner, played, view);
  const double last_s = view.last_came_s();
  if (view.outcome_s() > last_s + view.slack_s()) {
    fail(runner, played, view, "late",
         text("the last rank arrived at ", last_s, " s, but it was set up at ", view.outcome_s(),
              " s"),
         text("soon after ", last_s, " s"), text(view.outcome_s(), " s"));
  }
}

// Rank 0, once in each step, where it should. (Who finds a bad variable may have begun already.)
void check_hosting(CaseRunner& runner, const Played& played, const View& view) {
  if (view.damaged(view.rank)) return;
  const auto mine = view.in_this_step(view.run.machines.hosted);
  const bool right = view.rank == 0 && !view.launcher_serves();
  if (mine.size() != (right ? 1 : 0)) {
    fail(runner, played, view, "hosts",
         text("it started to serve ", mine.size(), mine.size() == 1 ? " store" : " stores",
              right ? " where rank 0 serves one"
                    : " where it should serve none: all ranks share one store"),
         right ? "one store" : "none", text(mine.size()));
  }
  if (!right) return;
  const comm::Endpoint at{view.mine().variables.at("MASTER_ADDR"), view.number("MASTER_PORT")};
  if (mine.front().place() == at) return;
  fail(runner, played, view, "hosts_elsewhere",
       text("it serves the store at ", sim::printable(text_of(mine.front().place()), 80),
            " where MASTER_ADDR and MASTER_PORT say ", text_of(at)),
       text_of(at), text_of(mine.front().place()));
}

}  // namespace lockstep::grader::setup_distributed
