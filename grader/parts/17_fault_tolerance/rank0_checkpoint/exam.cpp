// The exam of rank0_checkpoint. Storage is the judge's: a life ends between any two of its calls,
// and new players go on with what is there. What a run must be then, the judge computes on paper.
#include <algorithm>
#include <cctype>
#include <utility>

#include "engine/base/units.hpp"
#include "grader/exam/lives/ended.hpp"
#include "grader/parts/17_fault_tolerance/rank0_checkpoint/case.hpp"
#include "grader/parts/17_fault_tolerance/rank0_checkpoint/drawn_state.hpp"
#include "grader/parts/17_fault_tolerance/rank0_checkpoint/whole_files.hpp"

namespace lockstep::grader::rank0_checkpoint {
namespace {

using checkpoint::PieceKind;
using checkpoint::PowerCut;

// A matrix, its bias, a buffer, and Adam's state of them, all small.
std::vector<PaperTensor> tensors() {
  return {{PieceKind::parameter, "0.weight", {3, 5}},
          {PieceKind::parameter, "0.bias", {3}},
          {PieceKind::buffer, "0.mean", {5}},
          {PieceKind::optimizer_state, "0.weight.exp_avg", {3, 5}},
          {PieceKind::optimizer_state, "0.weight.exp_avg_sq", {3, 5}},
          {PieceKind::optimizer_state, "0.bias.exp_avg", {3}}};
}

PaperRun run_at(CaseRunner& runner, std::int64_t step) {
  const checkpoint::TrainState first = drawn_state(runner, step);
  return {tensors(), first, runner.draw()};
}
PaperRun run_of(CaseRunner& runner) { return run_at(runner, runner.draw_between(1, 50)); }

LivesProblem problem(std::vector<std::string> lives, int ranks, int writer) {
  LivesProblem p{.lives = std::move(lives), .ranks = ranks, .writer = writer};
  p.input_of = input_of_life<Rank0Case>;
  return p;
}

void contents_of_files(CaseRunner& runner) {
  const std::string some = text("step ", runner.draw()), other = text("other ", runner.draw());
  const std::string more = other + other + other;
  judge(runner, {"", some});
  judge(runner, {more, some});
  judge(runner, {some, more});
  judge(runner, {more, ""});
}

void ends_of_files(CaseRunner& runner) {
  const std::string old = text("old ", runner.draw()), now = text("new ", runner.draw());
  for (std::int64_t k = 0; k < 7; ++k) {
    const std::string at = text("call ", k + 1);
    judge(runner, {old, now, {.after_calls = k}, text("killed at ", at)});
    judge(runner, {old, now, {.refused = {k}}, text(at, " is refused")});
    judge(runner, {old, now, {k, PowerCut::loses_bytes}, text("no power at ", at)});
    judge(runner, {old, now, {k, PowerCut::loses_names_and_bytes}, text("no power at ", at)});
  }
}

// In the one life of the case, the writer alone calls the storage.
void check_writer(CaseRunner& runner, const Played& played, const LivesProblem& p,
                  const SeenLives& seen) {
  for (const StorageEvent& event : seen.storage.log()) {
    if (event.who.rank == p.writer) continue;
    runner.fail(played,
                because({"several_writers", "one rank writes, and the others wait for it"},
                        {.message = text("rank ", event.who.rank, " called the storage (",
                                         event.name.empty() ? "the outermost folder" : event.name,
                                         "), and `writer` is rank ", p.writer),
                         .where = text("rank ", event.who.rank)}));
  }
}

void check_traffic(CaseRunner& runner, const Played& played, const LivesProblem& p) {
  std::int64_t bytes = 0;
  for (const auto& one : played.counters.collectives) bytes += one.bytes;
  const bool few = std::ssize(played.counters.collectives) <= 2 && bytes <= 16 * p.ranks;
  if (few && played.counters.messages.empty()) return;
  runner.fail(played,
              {.verdict = Verdict::efficiency,
               .cause = "other_traffic",
               .message = text("what was saved is right, but it took ",
                               counted(std::ssize(played.counters.collectives), "collective"),
                               " of ", bytes, " bytes together and ",
                               counted(std::ssize(played.counters.messages), "message"),
                               "; one broadcast of 8 bytes tells all ranks that the "
                               "writer is done"),
               .expected = "a broadcast of 8 bytes"});
}

void one_writer(CaseRunner& runner) {
  save_on_every_size(
      runner, problem({}, 1, 0), [](CaseRunner& at, int) { return run_of(at); },
      [&](const Played& played, const PaperRun&, const LivesProblem& p, SeenLives& seen) {
        check_writer(runner, played, p, seen);
      },
      [&](const Played& played, const PaperRun&, const LivesProblem& p, SeenLives&) {
        check_traffic(runner, played, p);
      });
}

void goes_on(CaseRunner& runner) {
  const auto five_and_five = [&](const PaperRun& run, int ranks, int writer) {
    LivesProblem p = problem({"ttttts", "lttttt"}, ranks, writer);
    p.players = Players::fresh;
    judge_lives(runner, run, p,
                {.steps = 10,
                 .when = "after 5 steps, a save, and 5 more in new processes",
                 .situations = {Situation::double_digits}});
  };
  five_and_five(run_of(runner), 1, 0);
  five_and_five(run_of(runner), 3, 2);
  five_and_five(run_at(runner, (1 << 24) + 2 * runner.draw_between(0, 9)), 2, 1);
  // A run that has taken no step.
  judge_lives(runner, run_at(runner, 0), problem({"s", "lt"}, 2, 0),
              {.when = "after a save at step 0, and a step more"});
}

// In a load of this life, rank 0 alone looks which checkpoint is the last.
void check_looks(CaseRunner& runner, const Played& played, const SeenLives& seen, int life) {
  for (const StorageEvent& event : seen.storage.log_of(life)) {
    const bool looks = event.kind == StorageCall::Kind::list && event.name.empty();
    if (!looks || event.who.rank == 0) continue;
    runner.fail(played,
                because({"others_look",
                         "rank 0 looks which checkpoint is the last, and tells the others; "
                         "they need not look"},
                        {.message = text("rank ", event.who.rank, " listed the checkpoints, too"),
                         .where = text("rank ", event.who.rank)}));
  }
}

// True if a sentence has this number alone, and not as a part of another one or of a name.
bool has_number(const std::string& sentence, int number) {
  std::string word;
  for (const char c : sentence + " ") {
    const bool is_of_a_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (is_of_a_word) {
      word += c;
    } else if (std::exchange(word, {}) == text(number)) {
      return true;
    }
  }
  return false;
}

// The errors of a save that its writer could not make: on the writer what its storage threw, and
// elsewhere a sentence that names the writer.
std::optional<Failure> wrong_errors(const std::vector<SaveReport>& of_ranks, int writer) {
  for (int rank = 0; std::cmp_less(rank, of_ranks.size()); ++rank) {
    const SaveReport& report = of_ranks[static_cast<std::size_t>(rank)];
    const bool threw = report.kind != SaveReport::Kind::saved;
    const auto failure = [&](const Cause& cause) {
      return because(cause, {.message = text("the disk was full, and on rank ", rank, " the save ",
                                             threw ? "threw: " + report.what : "returned"),
                             .where = text("rank ", rank)});
    };
    if (rank == writer && !threw) {
      return failure({"failure_lost",
                      "the writer throws, too: keep the exception while the others are told, and "
                      "throw it again"});
    }
    if (rank == writer && report.what.find("no space is left") == std::string::npos) {
      return failure({"other_error_on_the_writer",
                      "on the writer, the save throws what its storage threw: keep that "
                      "exception, and throw it again"});
    }
    if (rank == writer || report.kind != SaveReport::Kind::refused) continue;
    if (!has_number(report.what, writer)) {
      return failure({"names_no_writer",
                      "the sentence names the writer, whose own message says what went wrong"});
    }
  }
  return std::nullopt;
}

// Two checkpoints are there; the last one counts from the moment at which a rank reads the other.
void one_for_all(CaseRunner& runner) {
  const PaperRun run = run_of(runner);
  LivesProblem p = problem({"tstts", "l"}, 3, 0);
  p.stagger_s = 10;
  SeenLives seen(2);
  std::string index;  // of the last one
  bool hidden = false, seen_reading = false;
  auto& files = seen.storage.files();
  seen.storage.watch([&](const StorageEvent& event) {
    if (event.life == 0 && event.kind == StorageCall::Kind::rename) index = event.to;
    if (event.life == 0 || index.empty() || seen_reading) return;
    if (!hidden) files.rename(index, index + ".later");
    hidden = true;
    if (event.kind != StorageCall::Kind::read) return;
    files.rename(index + ".later", index);
    seen_reading = true;
  });
  const auto played = play(runner, run, p, seen, {});
  if (!played) return;
  compare(runner, *played, run, p, {1}, "when another checkpoint was saved while ranks loaded",
          Cause{"other_checkpoint",
                "ranks that look at different moments see different checkpoints: rank 0 looks, and "
                "tells the others which one it is"});
  check_looks(runner, *played, seen, 1);
}

void none_there(CaseRunner& runner) {
  const PaperRun run = run_of(runner);
  const LivesProblem p = problem({"l"}, 2, 0);
  SeenLives seen(1);
  const auto played = play(runner, run, p, seen, {});
  if (!played) return;
  for (int rank = 0; rank < p.ranks; ++rank) {
    const auto report = read_fields<LifeReport>(played->results->of(rank));
    if (report.values.size() != run.tensors().size()) throw MalformedMessage("no values");
    if (!report.found && report.restored == 0) continue;
    runner.fail(*played, {.cause = "found_nothing_there",
                          .message = text("rank ", rank, " was given a checkpoint of step ",
                                          report.state.step, " from a storage without any"),
                          .where = text("rank ", rank)});
  }
}

}  // namespace

Exam exam() {
  return {
      {"a file that is written whole has its content, whatever was there", contents_of_files},
      {"it is the older file or the new one, wherever the program or the power ends",
       ends_of_files},
      {"one rank writes, and none returns before the commit", one_writer},
      {"ten steps are five, a save, a load by new processes, and five more", goes_on},
      {"a step that is saved again is the later save, and `options` count",
       [](CaseRunner& runner) { saves_again(runner, run_of(runner), problem({}, 2, 1)); }},
      {"a save that is cut off at any call leaves the last checkpoint or the one before",
       [](CaseRunner& runner) {
         constexpr PowerCut bytes = PowerCut::loses_bytes, all = PowerCut::loses_names_and_bytes;
         cut_off(runner, run_of(runner), problem({}, 2, 1), std::vector<PowerAtEnd>(6));
         cut_off(runner, run_of(runner), problem({}, 1, 0), {bytes, bytes, bytes});
         cut_off(runner, run_of(runner), problem({}, 1, 0), {all, all, all});
       }},
      {"when the disk is full, or the writer throws something else, every rank throws, and the "
       "older checkpoint is as it was",
       [](CaseRunner& runner) {
         for (const bool foreign : {false, true}) {
           for (const std::int64_t changes : {0, 18}) {
             LivesProblem p = problem({}, 2, 1);
             p.foreign = foreign;
             full_disk(runner, run_of(runner), p, {.full_after = changes, .full_once = foreign}, "",
                       [](const auto& of_ranks) { return wrong_errors(of_ranks, 1); });
           }
         }
       }},
      {"all ranks load the same checkpoint, or none; a damaged one is an error on every rank",
       [](CaseRunner& runner) {
         one_for_all(runner);
         none_there(runner);
         damaged_index(runner, run_of(runner), problem({"ts", "l"}, 3, 1));
       }},
      {"when a peer is lost, a rank throws CommError",
       [](CaseRunner& runner) {
         lose_peers(runner, run_of(runner), problem({}, 3, 1),
                    {{{"ts"}, 1}, {{"ts"}, 2}, {{"ts", "l"}, 0}}, 15);
       },
       {},
       Asks::faults},
  };
}

}  // namespace lockstep::grader::rank0_checkpoint
