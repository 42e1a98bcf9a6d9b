#include "grader/judge/bench.hpp"

#include <utility>

#include <algorithm>

#include "engine/base/random.hpp"

namespace lockstep::grader {
namespace {

constexpr int players_max = 8;

// One word for what the core or the host found; a hint is chosen by it.
std::string cause_of(const sim::Finding& finding) {
  switch (finding.verdict) {
    case sim::Verdict::deadlock:
      return finding.ranks.size() > 1 ? "cycle" : "waits_for_nobody";
    case sim::Verdict::mismatch:
      return "ranks_disagree";
    case sim::Verdict::undelivered:
      return "never_received";
    case sim::Verdict::in_flight:
      return "buffer_in_flight";
    case sim::Verdict::rank_exited:
      return "exited";
    case sim::Verdict::unsolved:
      return "stub";
    default: {
      std::string name(sim::name_of(finding.verdict));
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    }
  }
}

}  // namespace

Bench::Bench(std::string exercise, std::string player, const JudgeOptions& options)
    : exercise_(std::move(exercise)),
      player_(std::move(player)),
      options_(options),
      kept_run_(options.timeline) {}

std::optional<Played> Bench::ask(const std::string& description, Bytes input) {
  CaseSetup setup;
  setup.description = description;
  setup.inputs.push_back(std::move(input));
  return play(setup);
}

std::uint64_t Bench::draw() { return random_bits(options_.seed, drawn_++); }

std::optional<Played> Bench::play(const CaseSetup& setup) {
  const int number = next_case_++;
  if (options_.only_case && *options_.only_case != number) return std::nullopt;
  ++played_;
  const int ranks = static_cast<int>(setup.inputs.size());
  LOCKSTEP_CHECK(ranks >= 1 && ranks <= players_max, "a case has ", ranks, " ranks; 1 to ",
                 players_max, " can be judged");
  // Players live from case to case, so that a call sees what an earlier one left behind.
  if (!host_ || !host_->usable()) {
    host_ = std::make_unique<sim::ProcessHost>(std::vector<std::string>{player_},
                                               options_.only_case ? ranks : players_max,
                                               options_.limits);
  }
  sim::Options world;
  world.ranks = ranks;
  world.network = setup.network;
  world.seed = setup.schedule_seed;
  world.limits = setup.limits;
  world.services = setup.services;
  world.timeline = kept_run_.next(text(exercise_, ", case ", number, ": ", setup.description));
  sim::Core core(std::move(world));
  sim::CaseResult result = host_->run(core, setup.inputs);
  Played played{number, setup.description, std::move(result.results), core.counters(),
                std::move(result.output)};
  last_ = {played.number, played.description, {}, {}, played.output};
  if (result.finding) {
    fail(played, {.verdict = result.finding->verdict,
                  .cause = cause_of(*result.finding),
                  .message = result.finding->message,
                  .expected = {},
                  .seen = {},
                  .where = result.finding->where,
                  .counters = {},
                  .case_number = 0,
                  .output = {},
                  .ranks = result.finding->ranks});
  }
  return played;
}

void Bench::note(const Failure& failure) {
  if (failure.case_number != last_.number) return;
  kept_run_.failed({.verdict = failure.verdict,
                    .message = failure.message,
                    .ranks = failure.ranks,
                    .where = failure.where});
}

Failure Bench::unreadable_result(const std::string& why) const {
  Failure failure;
  failure.verdict = sim::Verdict::crash;
  failure.cause = "unreadable_result";
  failure.message = text("a rank sent a result that cannot be read (", why,
                         "): was fd 3 written to, or memory overwritten?");
  failure.where = text("case ", last_.number, ": ", last_.description);
  failure.case_number = last_.number;
  failure.output = last_.output;
  return failure;
}

void Bench::fail(const Played& played, Failure failure) const {
  failure.case_number = played.number;
  failure.output = played.output;
  failure.where = failure.where.empty()
                      ? text("case ", played.number, ": ", played.description)
                      : text("case ", played.number, ": ", played.description, ", ", failure.where);
  throw Failure(std::move(failure));
}

}  // namespace lockstep::grader
