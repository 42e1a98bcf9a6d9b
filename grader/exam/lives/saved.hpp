// Runs that are saved, ended and loaded, life after life. An exam says how its adapter is told, and
// what the storage does to each life; what must be true of the last one is here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grader/exam/lives/script.hpp"
#include "grader/exam/ranks/paper_run.hpp"

namespace lockstep::grader {

using SaveReports = ReportedService<SaveReport>;

struct LivesProblem {
  std::vector<std::string> lives{"ttttts", "lttttt"};  // t: a step, s: a save, l: a load
  int ranks = 2;
  BoxCut cut = everything;
  // The last life's own, where other ranks load what these have saved, or other boxes.
  std::optional<int> last_ranks{};
  BoxCut last_cut{};
  int writer = 0;
  int keep_last = 0;
  double stagger_s = 0;  // rank r begins r times as late
  bool foreign = false;  // as LifeCase
  Players players = Players::kept;
  // The input of the part's adapter.
  std::function<Bytes(const LifeCase&, Peer)> input_of{};

  int ranks_of(std::size_t life) const {
    return life + 1 == lives.size() ? last_ranks.value_or(ranks) : ranks;
  }
  Holder holder(std::size_t life, int rank) const {
    return {life + 1 == lives.size() && last_cut ? last_cut : cut, rank, ranks_of(life)};
  }
  std::string description() const {
    const std::string others =
        last_ranks ? text("; at last ", counted(*last_ranks, "rank")) : std::string();
    return text(counted(ranks, "rank"), ", rank ", writer, " writes the index", others);
  }
};

// The services of all lives, and what they have seen.
class SeenLives {
 public:
  explicit SeenLives(std::size_t lives, StoragePrice price = {}) : storage(price) {
    steps_.reserve(lives);
    reports_.reserve(lives);
  }
  std::vector<sim::Service*> begin_life(const PaperRun& run) {
    steps_.push_back(run.service());
    reports_.emplace_back(SaveReports::Caps{.steps = ~std::uint32_t{0}, .reports = 4});
    return {&steps_.back(), &reports_.back()};
  }
  // The reports of a rank of a life on its save of this step: that it calls, and how that ended.
  const std::vector<SaveReports::Note>& told(std::size_t life, std::int64_t step, int rank) const {
    return reports_.at(life).told(static_cast<std::uint32_t>(step), rank);
  }
  bool has_returned(std::size_t life, std::int64_t step, int rank) const {
    const auto& notes = told(life, step, rank);
    return notes.size() == 2 && notes[1].report.kind == SaveReport::Kind::saved;
  }

  StorageService storage;

 private:
  std::vector<StepService> steps_;
  std::vector<SaveReports> reports_;
};

// A life that begins with a load is given names and shapes only.
inline Life life_of(const PaperRun& run, const LivesProblem& p, std::size_t number, LifeEnd end,
                    Peer peer = Peer::stays) {
  Life life{text("life ", number + 1, " of ", p.lives.size()), {}, std::move(end)};
  const bool loads = p.lives[number].starts_with('l');
  for (int rank = 0; rank < p.ranks_of(number); ++rank) {
    LifeCase c;
    c.tensors =
        run.held(loads ? PaperRun::Gives::names : PaperRun::Gives::values, p.holder(number, rank));
    if (!loads) c.state = run.state(0);
    c.acts = acts_of(p.lives[number]);
    c.writer = p.writer;
    c.keep_last = p.keep_last;
    c.begins_s = rank * p.stagger_s;
    c.foreign = p.foreign;
    life.inputs.push_back(p.input_of(c, peer));
  }
  return life;
}

// As a part's adapter is told: the case that its format has for a life.
template <typename Case>
Bytes input_of_life(const LifeCase& life, Peer peer = Peer::stays) {
  Case c;
  c.peer = peer;
  c.life = life;
  return fields_to_bytes(c);
}

// Plays one case of it; `ends` are those of the lives, in their order.
inline std::optional<Played> play(CaseRunner& runner, const PaperRun& run, const LivesProblem& p,
                                  SeenLives& seen, std::vector<LifeEnd> ends,
                                  std::vector<Situation> situations = {}) {
  CaseSetup common;
  common.description = p.description();
  common.schedule_seed = runner.draw();
  common.limits.requests_max = 20'000;
  common.players = p.players;
  common.situations = std::move(situations);
  ends.resize(p.lives.size());
  std::vector<Life> lives;
  for (std::size_t i = 0; i < ends.size(); ++i) lives.push_back(life_of(run, p, i, ends[i]));
  return play_lives(runner, common, seen.storage, lives,
                    [&](std::size_t) { return seen.begin_life(run); });
}

// Why a rank that loaded stands elsewhere than after `steps` steps: by what it did not find, and by
// what it goes on from.
inline Cause cause_of(const PaperRun& run, const LifeReport& report, std::int64_t steps) {
  if (!report.refused.empty()) {
    return {"load_threw", text("the checkpoint is whole, and the load threw: ", report.refused)};
  }
  if (!report.found) {
    return {"nothing_found", "there is a checkpoint, and the load returned nothing"};
  }
  if (report.restored != 1) {
    return {"restore_calls", text("each rank loads its own part, so `restore` is called once on "
                                  "each; on this one it was called ",
                                  counted(report.restored, "time"))};
  }
  for (const std::string& name : report.missing) {
    const PaperTensor* const one = run.find(name);
    if (one == nullptr) throw MalformedMessage("a rank reported a tensor that there is not");
    if (one->kind == checkpoint::PieceKind::optimizer_state) {
      return {"optimizer_missing",
              text("of the optimizer's state, ", name, " is not in the checkpoint")};
    }
    return {"piece_missing", text(name,
                                  " is not in the checkpoint; a state is parameters, buffers "
                                  "and the optimizer's state")};
  }
  if (report.state.step == run.state(steps).step && report.state != run.state(steps)) {
    return {"place_lost",
            "a run goes on from its step, epoch, places taken, seed, loss scale and notes; save "
            "all of `state`, and return what was saved"};
  }
  return {"other_values", "this is the state of another moment, or a mixture of two"};
}

// The last life stands where the run was after one of these numbers of steps, the first by right,
// and it is the same number on every rank.
//   other  why it stands at another step, if the check knows
inline void compare(CaseRunner& runner, const Played& played, const PaperRun& run,
                    const LivesProblem& p, std::vector<std::int64_t> allowed,
                    const std::string& when, const std::optional<Cause>& other = {}) {
  const bool loads = p.lives.back().starts_with('l');
  const std::size_t last = p.lives.size() - 1;
  for (int rank = 0; rank < p.ranks_of(last); ++rank) {
    const Holder who = p.holder(last, rank);
    const auto report = read_fields<LifeReport>(played.results->of(rank));
    const auto stands = [&](std::int64_t steps) { return !difference(run, steps, report, who); };
    const auto at_its_step = [&](std::int64_t steps) {
      return run.state(steps).step == report.state.step;
    };
    if (const auto at = std::ranges::find_if(allowed, stands); at != allowed.end()) {
      allowed = {*at};
      continue;
    }
    auto nearest = std::ranges::find_if(allowed, at_its_step);
    const bool elsewhere = nearest == allowed.end();
    if (elsewhere) nearest = allowed.begin();
    auto failure = difference(run, *nearest, report, who);
    failure->message = text("rank ", rank, ", ", when, ": ", failure->message);
    failure->where = text("rank ", rank);
    const Cause cause = !loads
                            ? Cause{"state_changed", "a save reads the state and changes nothing"}
                        : elsewhere && report.found && other ? *other
                                                             : cause_of(run, report, *nearest);
    runner.fail(played, because(cause, std::move(*failure)));
  }
}

// A case whose lives end well, and what looks at it before and after the last life is compared.
using LookAtLives =
    std::function<void(const Played&, const PaperRun&, const LivesProblem&, SeenLives&)>;
struct AskedLives {
  std::int64_t steps = 1;  // after which the last life stands
  std::string when{};      // "after its save", as a sentence goes on
  std::vector<Situation> situations{};
  StoragePrice price{};
  LookAtLives before{}, after{};
};
inline void judge_lives(CaseRunner& runner, const PaperRun& run, const LivesProblem& p,
                        const AskedLives& asked) {
  SeenLives seen(p.lives.size(), asked.price);
  const auto played = play(runner, run, p, seen, {}, asked.situations);
  if (!played) return;
  if (asked.before) asked.before(*played, run, p, seen);
  compare(runner, *played, run, p, {asked.steps}, asked.when);
  if (asked.after) asked.after(*played, run, p, seen);
}

}  // namespace lockstep::grader
