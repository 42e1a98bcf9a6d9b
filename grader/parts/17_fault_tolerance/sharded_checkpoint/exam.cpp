// The exam of sharded_checkpoint. A rank is given its boxes and no others, so nobody could save or
// load the whole by itself. Storage is the judge's: a life ends between any two calls of any rank,
// and new players, as many as there may be, go on with what is there.
#include <algorithm>
#include <set>

#include "engine/checkpoint/index.hpp"
#include "grader/exam/lives/ended.hpp"
#include "grader/exam/ranks/asked.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/parts/17_fault_tolerance/rank0_checkpoint/drawn_state.hpp"
#include "grader/parts/17_fault_tolerance/sharded_checkpoint/boxes_in_turn.hpp"
#include "grader/parts/17_fault_tolerance/sharded_checkpoint/case.hpp"

namespace lockstep::grader::sharded_checkpoint {
namespace {

using checkpoint::PieceKind;
using checkpoint::PowerCut;
using Kind = StorageCall::Kind;

PaperRun run_of(CaseRunner& runner, std::int64_t width = 5) {
  const checkpoint::TrainState first = drawn_state(runner, runner.draw_between(1, 50));
  return {{
              {PieceKind::parameter, "0.weight", {width, 6}},
              {PieceKind::buffer, "0.mean", {6}},
              {PieceKind::optimizer_state, "0.weight.exp_avg", {width, 6}},
          },
          first,
          runner.draw()};
}

// Flat ranges of ⌈D/N⌉ elements, as ZeRO cuts them: several boxes of a matrix; the last ranks may
// have none.
Boxes flat(const Shape& shape, int rank, int ranks) {
  const std::int64_t count = numel_of(shape), each = (count + ranks - 1) / ranks;
  return range_of(whole_of(shape), std::min(rank * each, count),
                  std::min((rank + 1) * each, count));
}
// A range of the last axis, as tensor parallelism cuts it.
Boxes columns(const Shape& shape, int rank, int ranks) {
  Box box = whole_of(shape).front();
  const std::size_t axis = shape.size() - 1;
  box.begin[axis] = shape[axis] * rank / ranks;
  box.end[axis] = shape[axis] * (rank + 1) / ranks;
  return box.begin[axis] < box.end[axis] ? Boxes{box} : Boxes{};
}

Boxes all_but_the_last(const Shape& shape, int rank, int ranks) {
  return rank + 1 < ranks ? flat(shape, rank, ranks - 1) : Boxes{};
}

LivesProblem problem(std::vector<std::string> lives, int ranks, int committer) {
  LivesProblem p{.lives = std::move(lives), .ranks = ranks, .cut = flat, .writer = committer};
  p.input_of = input_of_life<ShardedCase>;
  return p;
}
LivesProblem loaded_on(LivesProblem p, int ranks, BoxCut cut = flat) {
  p.last_ranks = ranks;
  p.last_cut = std::move(cut);
  return p;
}

bool is_of_tensors(const StorageEvent& event) { return event.name.ends_with(".safetensors"); }

// The bytes of tensors that a rank has written, or read, in a life.
std::uint64_t moved_bytes(const StorageService& storage, int life, int rank, Kind kind) {
  std::uint64_t bytes = 0;
  for (const StorageEvent& event : storage.log_of(life)) {
    const bool counts = event.who.rank == rank && event.kind == kind && is_of_tensors(event);
    if (counts) bytes += event.bytes;
  }
  return bytes;
}

std::uint64_t own_bytes(const PaperRun& run, const Holder& who) {
  std::uint64_t bytes = 0;
  for (const PaperTensor& tensor : run.tensors()) {
    bytes += static_cast<std::uint64_t>(numel_of(who.of(tensor.shape))) * sizeof(double);
  }
  return bytes;
}

// In life 1 of the case, the committer renamed the index when every file was on the disk.
void check_order(CaseRunner& runner, const Played& played, const LivesProblem& p,
                 const SeenLives& seen) {
  std::set<std::string> unsynced;
  bool committed = false;
  for (const StorageEvent& event : seen.storage.log_of(0)) {
    const bool of_share =
        is_of_tensors(event) && (event.kind == Kind::write || event.kind == Kind::sync);
    if (event.who.rank != p.writer && changes(event.kind) && !of_share) {
      runner.fail(played,
                  because({"other_writer",
                           "the committer begins and commits, and every other rank writes its "
                           "share and nothing else"},
                          {.message = text("rank ", event.who.rank, " changed ",
                                           event.name.empty() ? "the outermost folder" : event.name,
                                           ", and the committer is rank ", p.writer),
                           .where = text("rank ", event.who.rank)}));
    }
    if (event.kind == Kind::write && is_of_tensors(event)) unsynced.insert(event.name);
    if (event.kind == Kind::sync && !committed) unsynced.erase(event.name);
    committed = committed || commits(event);
    if (!committed || unsynced.empty()) continue;
    runner.fail(played, because({"index_first",
                                 "the index names every share, so it is renamed when every rank "
                                 "has told that its share is on the disk"},
                                {.message = text("the index was renamed before ", *unsynced.begin(),
                                                 " was on the disk")}));
  }
}

// Each rank wrote what it holds, beside the header of each file.
void check_shares(CaseRunner& runner, const Played& played, const PaperRun& run,
                  const LivesProblem& p, const SeenLives& seen) {
  constexpr std::uint64_t headers = 6 << 10;
  for (int rank = 0; rank < p.ranks; ++rank) {
    const std::uint64_t own = own_bytes(run, p.holder(0, rank));
    const std::uint64_t wrote = moved_bytes(seen.storage, 0, rank, Kind::write);
    if (own <= wrote && wrote <= own + headers) continue;
    runner.fail(played, because({"other_share", "each rank writes its own share, and no other"},
                                {.verdict = Verdict::efficiency,
                                 .message = text("rank ", rank, " holds ", own,
                                                 " bytes of the run, and wrote ", wrote),
                                 .where = text("rank ", rank)}));
  }
}

// Ranks that save, and others that load and go on.
struct Worlds {
  int from, to;
  BoxCut cut = flat, last_cut = flat;
};

void other_ranks(CaseRunner& runner) {
  for (const Worlds& one : {Worlds{3, 4, flat, columns},
                            {1, 2, flat, everything},
                            {4, 1, columns},
                            {2, 8},
                            {5, 3},
                            {3, 2, all_but_the_last},
                            {4, 13}}) {
    const PaperRun run = run_of(runner);
    LivesProblem p = loaded_on(problem({"ts", "lt"}, one.from, one.from / 2), one.to, one.last_cut);
    p.cut = one.cut;
    if (one.to == 2) p.players = Players::fresh;
    judge_lives(
        runner, run, p,
        {.steps = 2,
         .when = text("one step behind the load of what ", counted(one.from, "rank"), " saved"),
         .situations = {Situation::double_digits},
         .price = {.call_s = 0.125},
         .before = [&](const Played& played, const PaperRun&, const LivesProblem&,
                       SeenLives& seen) {
           check_order(runner, played, p, seen);
           check_waited(runner, played, p, seen, 0, run.state(1).step);
         }});
  }
}

void at_one_step(CaseRunner& runner) {
  saves_again(runner, run_of(runner), problem({}, 2, 1));
  // Fewer ranks save the step once more, where files of the larger world lie.
  judge_lives(runner, run_of(runner), loaded_on(problem({"ts", "lsl"}, 3, 1), 2),
              {.when = "after 2 ranks saved what 3 had saved before",
               .before = [&](const Played& played, const PaperRun& run, const LivesProblem& p,
                             SeenLives& seen) {
                 check_waited(runner, played, p, seen, 1, run.state(1).step);
               }});
}

void kills(CaseRunner& runner) {
  constexpr PowerCut bytes = PowerCut::loses_bytes, all = PowerCut::loses_names_and_bytes;
  cut_off(runner, run_of(runner), loaded_on(problem({}, 2, 1), 1), {{}, all, {}, bytes});
  cut_off(runner, run_of(runner), loaded_on(problem({}, 3, 0), 2), {{}, {}, bytes});
}

// The disk of one rank is full: when it begins, when it writes, when it commits.
void full_disks(CaseRunner& runner) {
  const std::pair<int, std::int64_t> full[] = {{1, 0}, {2, 0}, {0, 5}, {1, 17}};
  for (const auto& [rank, changes] : full) {
    full_disk(runner, run_of(runner), problem({}, 3, 1), {.full_after = changes, .full_rank = rank},
              text("rank ", rank));
  }
}

enum class Damage : std::uint8_t { gone, shorter, changed };

void damage(checkpoint::MemoryStorage& files, const std::string& name, Damage how) {
  Bytes bytes;
  for (const checkpoint::Stored& one : files.list(checkpoint::folder_of(name))) {
    if (checkpoint::within(checkpoint::folder_of(name), one.name) == name) bytes.resize(one.bytes);
  }
  if (bytes.empty()) return;
  files.read(name, 0, bytes);
  if (how == Damage::changed) bytes.back() ^= std::byte{1};
  if (how == Damage::shorter) bytes.pop_back();
  files.remove(name);
  if (how != Damage::gone) files.write(name, 0, bytes);
}

// Between the save and the load, one file is damaged, of which every rank wants elements.
void damaged_files(CaseRunner& runner) {
  for (const Damage how : {Damage::gone, Damage::shorter, Damage::changed}) {
    const PaperRun run = run_of(runner);
    const LivesProblem p = loaded_on(problem({"ts", "l"}, 2, 0), 2, everything);
    SeenLives seen(2);
    std::string file;
    seen.storage.watch([&](const StorageEvent& event) {
      const bool writes = event.life == 0 && event.kind == Kind::write;
      if (writes && is_of_tensors(event)) file = event.name;
      if (event.life == 0 || seen.storage.calls() > 1) return;
      damage(seen.storage.files(), file, how);
    });
    const auto played = play(runner, run, p, seen, {});
    if (!played) continue;
    for (int rank = 0; rank < p.ranks_of(1); ++rank) {
      const auto report = read_fields<LifeReport>(played->results->of(rank));
      if (!file.empty() && report.refused.find(file) != std::string::npos) continue;
      runner.fail(
          *played,
          because(
              {"damage_hidden", "what `read` throws names the file and the tensor: let it through"},
              {.message = text(file,
                               how == Damage::gone      ? " was removed"
                               : how == Damage::shorter ? " lost a byte"
                                                        : " was changed",
                               ", and rank ", rank,
                               report.refused.empty() ? std::string(" loaded it all the same")
                                                      : " was told: " + report.refused),
               .where = text("rank ", rank)}));
    }
  }
}

// Each rank tells the others what it wrote, and no more.
void check_traffic(CaseRunner& runner, const Played& played, int ranks) {
  constexpr double list = 4 << 10;  // bytes
  const double sent = total_bytes(played.counters), allowed = list * ranks * (ranks - 1);
  if (sent <= allowed) return;
  runner.fail(played,
              wasteful("gathered", sent, allowed, "from all ranks together",
                       "no element travels: what each rank tells the others is what it wrote"));
}

void each_its_share(CaseRunner& runner) {
  save_on_every_size(
      runner, problem({}, 1, 0),
      // Elements outweigh the lists that travel, so that gathering them would show.
      [](CaseRunner& at, int ranks) { return run_of(at, ranks == 2 || ranks == 4 ? 2'000 : 100); },
      {},
      [&](const Played& played, const PaperRun& run, const LivesProblem& p, SeenLives& seen) {
        check_shares(runner, played, run, p, seen);
        check_traffic(runner, played, p.ranks);
      });
}

// The fewest bytes that a rank can read of what `p` has saved: of each box the blocks that have an
// element of its own.
std::uint64_t fewest_bytes(const PaperRun& run, const LivesProblem& p, const Holder& who) {
  constexpr auto block = static_cast<std::int64_t>(checkpoint::block_bytes);
  constexpr std::int64_t size = sizeof(double);
  std::int64_t bytes = 0;
  const auto add = [&](const Box& saved, const Boxes& wanted) {
    std::set<std::int64_t> blocks;
    for (const Box& box : wanted) {
      const auto part = intersection(saved, box);
      if (!part) continue;
      const std::int64_t row = part->end.back() - part->begin.back();
      for (const std::int64_t at : rows_of(*part, saved)) {
        const std::int64_t last = ((at + row) * size - 1) / block;
        for (std::int64_t i = at * size / block; i <= last; ++i) blocks.insert(i);
      }
    }
    for (const std::int64_t i : blocks)
      bytes += std::min(block, numel_of(saved) * size - i * block);
  };
  for (const PaperTensor& tensor : run.tensors()) {
    for (int rank = 0; rank < p.ranks; ++rank) {
      for (const Box& saved : p.holder(0, rank).of(tensor.shape)) add(saved, who.of(tensor.shape));
    }
  }
  return static_cast<std::uint64_t>(bytes);
}

// Each rank read no more than it had to.
void check_reads(CaseRunner& runner, const Played& played, const PaperRun& run,
                 const LivesProblem& p, const SeenLives& seen) {
  for (int rank = 0; rank < p.ranks_of(1); ++rank) {
    const std::uint64_t most = fewest_bytes(run, p, p.holder(1, rank));
    const std::uint64_t read = moved_bytes(seen.storage, 1, rank, Kind::read);
    if (read <= most) continue;
    runner.fail(played, because({"reads_too_much",
                                 "a rank reads the blocks that have an element of its own, each "
                                 "once: read one box after the other, each from its front"},
                                {.verdict = Verdict::efficiency,
                                 .message = text("rank ", rank, " read ", read, " bytes, where ",
                                                 most, " are enough"),
                                 .where = text("rank ", rank)}));
  }
}

void own_reads(CaseRunner& runner) {
  const AskedLives asked{.when = "behind the load",
                         .after = [&](const auto&... seen) { check_reads(runner, seen...); }};
  // Two ranks have saved ranges of 2 blocks; or half of each row, and rank 0 wants them all.
  LivesProblem p = loaded_on(problem({"ts", "l"}, 2, 0), 3);
  judge_lives(runner, run_of(runner, 3'000), p, asked);
  p.cut = columns;
  p.last_ranks = 1;
  judge_lives(runner, run_of(runner, 40), p, asked);
}

}  // namespace

Exam exam() {
  return {
      {"boxes are read in turn, and each element goes to its place", boxes_in_turn},
      {"an element that no box has, and what `read` throws, reach the caller", boxes_refused},
      {"the index follows when every share is on the disk, and other ranks go on", other_ranks},
      {"a step that is saved again is the later save, also by fewer ranks", at_one_step},
      {"a save that is cut off at any call of any rank leaves the last checkpoint or the one "
       "before",
       kills},
      {"when the disk of one rank is full, every rank throws, and names it", full_disks},
      {"a file that is gone, shorter or changed is told by its name", damaged_files},
      {"each rank writes its share, and no element travels", each_its_share, {}, Asks::cost},
      {"a rank reads its own elements and little more", own_reads, {}, Asks::cost},
      {"when a peer is lost, a rank throws CommError",
       [](CaseRunner& runner) {
         lose_peers(runner, run_of(runner), problem({}, 3, 1), {{{"ts"}, 1}, {{"ts"}, 2}}, 10);
       },
       {},
       Asks::faults},
  };
}

}  // namespace lockstep::grader::sharded_checkpoint
