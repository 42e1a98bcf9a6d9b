#include "grader/exam/lives/ended.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/lost_peer_rules.hpp"

namespace lockstep::grader {
namespace {

// One life of a case, to be played by itself.
CaseSetup setup_of(const PaperRun& run, const LivesProblem& p, std::size_t life, SeenLives& seen,
                   Peer peer = Peer::stays) {
  CaseSetup setup;
  setup.description = p.description();
  setup.inputs = life_of(run, p, life, {}, peer).inputs;
  setup.services = seen.begin_life(run);
  setup.services.push_back(&seen.storage);
  seen.storage.begin({});
  return setup;
}

// The calls of life 1 that are of its second save, if nothing ends it.
struct SaveCalls {
  std::int64_t first = 0, last = 0;  // from 0
};
SaveCalls calls_of_save(CaseRunner& runner, const PaperRun& run, const LivesProblem& p) {
  SeenLives seen(1);
  runner.rehearse(setup_of(run, p, 0, seen));
  const auto& log = seen.storage.log();
  const auto commit = std::ranges::find_if(log, commits);
  const auto first = std::ranges::find(commit, log.end(), StorageCall::Kind::make,
                                       &StorageEvent::kind);  // begin_save begins so
  return {first - log.begin(), std::ssize(log) - 1};
}

// The report of a rank on how its save of this step ended.
const SaveReport& ending_of(const SeenLives& seen, std::size_t life, std::int64_t step, int rank) {
  const auto& told = seen.told(life, step, rank);
  if (told.size() != 2) throw MalformedMessage("a rank told of another number of saves");
  return told[1].report;
}

// Fails when a folder without an index is left.
void check_no_remains(CaseRunner& runner, const Played& played, checkpoint::MemoryStorage& files) {
  for (const checkpoint::Stored& one : files.list("")) {
    const auto names = files.list(one.name);
    if (std::ranges::find(names, "index.json", &checkpoint::Stored::name) != names.end()) continue;
    runner.fail(
        played,
        because({"remains", "a step that fails, the commit too, is followed by abandon_save"},
                {.message = text("of the save that failed, ", one.name, " is left with ",
                                 counted(std::ssize(names), "file"))}));
  }
}

// Fails when a checkpoint is gone that was committed.
void check_committed_stay(CaseRunner& runner, const Played& played, StorageService& storage) {
  for (const StorageEvent& event : storage.log()) {
    if (!commits(event) || checkpoint::is_there(storage.files(), event.to)) continue;
    runner.fail(played, because({"removes_what_counts",
                                 "once the index is renamed the checkpoint counts, whoever is "
                                 "lost then: abandon a save that fails, and no other"},
                                {.message = text("a peer was lost, and ", event.to,
                                                 ", which was committed, is gone")}));
  }
}

// Fails when a file is written that belongs to a committed checkpoint.
void check_nothing_overwritten(CaseRunner& runner, const Played& played,
                               const StorageService& storage) {
  using Kind = StorageCall::Kind;
  std::set<std::string> written, counted;
  for (const StorageEvent& event : storage.log()) {
    if (event.kind == Kind::rename) written.erase(event.name);
    if (commits(event)) counted.merge(std::exchange(written, {}));
    if (event.kind == Kind::remove) counted.erase(event.name);
    if (event.kind != Kind::write) continue;
    written.insert(event.name);
    if (!counted.contains(event.name)) continue;
    runner.fail(played,
                because({"overwrites_what_counts",
                         "a later save of a step has files of its own, whose names begin_save "
                         "knows (Draft::again): every rank writes under those"},
                        {.message = text("rank ", event.who.rank, " wrote over ", event.name,
                                         ", which is of a committed checkpoint"),
                         .where = text("rank ", event.who.rank)}));
  }
}

// Fails when a rank that does not commit removed what others have written.
void check_removals(CaseRunner& runner, const Played& played, const LivesProblem& p,
                    const std::vector<StorageEvent>& life) {
  using Kind = StorageCall::Kind;
  std::set<std::pair<int, std::string>> wrote;
  for (const StorageEvent& event : life) {
    const int rank = event.who.rank;
    if (event.kind == Kind::write) wrote.emplace(rank, event.name);
    if (event.kind != Kind::remove || rank == p.writer || wrote.contains({rank, event.name}))
      continue;
    runner.fail(played,
                because({"several_abandon",
                         "a save that fails is abandoned by the rank that has begun it; all ranks "
                         "at once would remove each other's files"},
                        {.message = text("the save failed, and rank ", rank, " removed ",
                                         event.name, ", though rank ", p.writer, " commits"),
                         .where = text("rank ", rank)}));
  }
}

}  // namespace

bool commits(const StorageEvent& event) {
  return event.kind == StorageCall::Kind::rename && event.to.ends_with("/index.json");
}

void check_waited(CaseRunner& runner, const Played& played, const LivesProblem& p,
                  const SeenLives& seen, std::size_t life, std::int64_t step) {
  double committed_s = sim::Service::forever;
  for (const StorageEvent& event : seen.storage.log_of(static_cast<int>(life))) {
    if (commits(event)) committed_s = event.until_s;
  }
  for (int rank = 0; rank < p.ranks_of(life); ++rank) {
    const SaveReport& report = ending_of(seen, life, step, rank);
    if (report.kind != SaveReport::Kind::saved) {
      runner.fail(played, {.cause = "save_threw",
                           .message = text("rank ", rank, "'s save threw, though the storage ",
                                           "refused nothing: ", report.what),
                           .where = text("rank ", rank)});
    }
    const double at_s = seen.told(life, step, rank)[1].at_s;
    if (at_s >= committed_s) continue;
    runner.fail(played, because({"not_waited",
                                 "all ranks, the writer too, meet in a collective after the "
                                 "commit, which no rank leaves before the last has come"},
                                {.message = text("rank ", rank, " returned at ", seconds_text(at_s),
                                                 ", before the index was renamed"),
                                 .where = text("rank ", rank)}));
  }
}

void save_on_every_size(CaseRunner& runner, LivesProblem p,
                        const std::function<PaperRun(CaseRunner&, int ranks)>& run_of,
                        const LookAtLives& before, const LookAtLives& after) {
  p.lives = {"ts"};
  for (const int ranks : rank_counts) {
    p.ranks = ranks;
    p.writer = ranks == 5 ? 0 : ranks / 2;
    AskedLives asked{.when = "after its save", .price = {.call_s = 0.125}, .after = after};
    if (ranks == 13) asked.situations = {Situation::rank_counts};
    asked.before = [&](const Played& played, const PaperRun& run, const LivesProblem& one,
                       SeenLives& seen) {
      if (before) before(played, run, one, seen);
      check_waited(runner, played, one, seen, 0, run.state(1).step);
    };
    judge_lives(runner, run_of(runner, ranks), p, asked);
  }
}

void saves_again(CaseRunner& runner, const PaperRun& run, LivesProblem p) {
  p.lives = {"tstss", "l"};
  p.keep_last = 1;
  const auto check_left = [&](const Played& played, const PaperRun&, const LivesProblem&,
                              SeenLives& seen) {
    check_nothing_overwritten(runner, played, seen.storage);
    const auto left = seen.storage.files().list("");
    if (left.size() == 1) return;
    runner.fail(played, because({"options_lost", "hand `options` on to all that asks for them"},
                                {.message = text(counted(std::ssize(left), "checkpoint"),
                                                 " are left, where keep_last is 1"),
                                 .expected = "1",
                                 .seen = text(left.size())}));
  };
  judge_lives(runner, run, p,
              {.steps = 2,
               .when = "after it was saved twice at one step",
               .situations = {Situation::same_call_twice},
               .after = check_left});
}

void cut_off(CaseRunner& runner, const PaperRun& run, LivesProblem p,
             const std::vector<PowerAtEnd>& ends) {
  p.lives = {"tsts", "l"};
  std::optional<SaveCalls> save;
  for (std::size_t number = 0; number < ends.size(); ++number) {
    if (!save && runner.plays_next()) save = calls_of_save(runner, run, p);
    const SaveCalls calls = save.value_or(SaveCalls{});
    const auto count = std::max<std::int64_t>(calls.last - calls.first + 1, 1);
    const auto chosen = requests_to_die_at(count, static_cast<int>(ends.size()));
    const std::int64_t at = calls.first + chosen[number % chosen.size()] - 1;
    const PowerAtEnd power = ends[number];
    SeenLives seen(2);
    const auto played = play(runner, run, p, seen, {{.after_calls = at, .power = power}, {}});
    if (!played) continue;
    std::vector<std::int64_t> allowed{2, 1};
    for (int rank = 0; rank < p.ranks; ++rank) {
      if (seen.has_returned(0, run.state(2).step, rank)) allowed = {2};
    }
    compare(runner, *played, run, p, allowed,
            text("after ", power ? "the power failed" : "all were killed", " at call ", at + 1,
                 " of the storage, in the second save"));
  }
}

void full_disk(CaseRunner& runner, const PaperRun& run, LivesProblem p, const LifeEnd& full,
               const std::string& named, const EndingsRule& wrong) {
  p.lives = {"ts", "lts", "l"};
  SeenLives seen(3);
  const auto played = play(runner, run, p, seen, {{}, full, {}});
  if (!played) return;
  // A rank that does not write meets no full disk.
  const auto life_2 = seen.storage.log_of(1);
  if (std::ranges::none_of(life_2, &StorageEvent::refused)) {
    return compare(runner, *played, run, p, {2}, "after a save to which nothing was refused");
  }
  std::vector<SaveReport> endings;
  for (int rank = 0; rank < p.ranks; ++rank) {
    endings.push_back(ending_of(seen, 1, run.state(2).step, rank));
  }
  if (wrong) {
    if (auto failure = wrong(endings)) runner.fail(*played, std::move(*failure));
  }
  for (int rank = 0; rank < p.ranks; ++rank) {
    const SaveReport& report = endings[static_cast<std::size_t>(rank)];
    const bool own = p.foreign && rank == p.writer && report.kind == SaveReport::Kind::other;
    const bool refused = own || report.kind == SaveReport::Kind::refused;
    if (refused && report.what.find(named) != std::string::npos) continue;
    runner.fail(*played,
                because({refused ? "not_named" : "not_told",
                         "a save that failed is a CheckpointError on every rank, and of no other "
                         "type: the rank that fails tells the others that it did"},
                        {.message = text("the disk was full, and on rank ", rank, " the save ",
                                         report.kind == SaveReport::Kind::saved
                                             ? std::string("returned")
                                             : "ended otherwise: " + report.what),
                         .where = text("rank ", rank)}));
  }
  compare(runner, *played, run, p, {1}, "after a save that failed");
  check_no_remains(runner, *played, seen.storage.files());
  check_removals(runner, *played, p, life_2);
}

void damaged_index(CaseRunner& runner, const PaperRun& run, const LivesProblem& p) {
  SeenLives seen(2);
  std::string index;
  seen.storage.watch([&](const StorageEvent& event) {
    if (commits(event)) index = event.to;
    if (event.life == 0 || seen.storage.calls() > 1) return;
    auto& files = seen.storage.files();
    for (const checkpoint::Stored& one : files.list(checkpoint::folder_of(index))) {
      if (checkpoint::within(checkpoint::folder_of(index), one.name) != index) continue;
      Bytes half(one.bytes / 2);
      files.read(index, 0, half);
      files.remove(index);
      files.write(index, 0, half);
    }
  });
  const auto played = play(runner, run, p, seen, {});
  if (!played) return;
  for (int rank = 0; rank < p.ranks; ++rank) {
    const auto report = read_fields<LifeReport>(played->results->of(rank));
    if (!report.refused.empty()) continue;
    runner.fail(*played,
                because({"damage_hidden",
                         "every rank opens the checkpoint of which rank 0 told, and lets what that "
                         "throws through"},
                        {.message = text("the index lost its second half, and rank ", rank,
                                         report.found ? " loaded it all the same"
                                                      : " was told that there is no checkpoint"),
                         .where = text("rank ", rank)}));
  }
}

void lose_peers(CaseRunner& runner, const PaperRun& run, const LivesProblem& p,
                const std::vector<DyingRank>& dying, int cases) {
  const auto last_life = [&](const DyingRank& one, SeenLives& seen) {
    LivesProblem here = p;
    here.lives = one.lives;
    const std::size_t last = here.lives.size() - 1;
    for (std::size_t life = 0; life < last; ++life) {
      runner.rehearse(setup_of(run, here, life, seen));
    }
    CaseSetup setup = setup_of(run, here, last, seen, Peer::lost);
    setup.situations = {Situation::lost_at_each_request};
    return setup;
  };
  at_each_request(runner, {.cases = cases,
                           .requests_max = 4,
                           .problems = static_cast<int>(dying.size()),
                           .requests_of =
                               [&](int number) {
                                 const DyingRank& one = dying[static_cast<std::size_t>(number)];
                                 SeenLives seen(one.lives.size());
                                 return runner.rehearse(last_life(one, seen))
                                     .ranks[static_cast<std::size_t>(one.rank)]
                                     .requests;
                               },
                           .judge =
                               [&](int number, std::int64_t request) {
                                 const DyingRank& one = dying[static_cast<std::size_t>(number)];
                                 SeenLives seen(one.lives.size());
                                 check_lost_peer(runner, last_life(one, seen), {one.rank, request},
                                                 [&](const Played& played, int, const Bytes&) {
                                                   check_committed_stay(runner, played,
                                                                        seen.storage);
                                                 });
                               }});
}

}  // namespace lockstep::grader
