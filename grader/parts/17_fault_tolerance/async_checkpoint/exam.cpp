// The exam of async_checkpoint. Steps and writes take virtual time. What lies in the storage is
// compared with the state at the moment of the call, which the judge computes on paper.
#include <algorithm>

#include "grader/judge/engine_errors.hpp"
#include "grader/parts/17_fault_tolerance/async_checkpoint/run.hpp"

namespace lockstep::grader::async_checkpoint {
namespace {

constexpr std::int64_t snapshot_slack = 4 << 20;  // bytes, of what the program keeps beside it

using Rule = void (*)(CaseRunner&, const Played&, Run&);

[[noreturn]] void fail(CaseRunner& runner, const Played& played, const Cause& cause,
                       const std::string& message, Verdict verdict = Verdict::wrong_answer) {
  runner.fail(played, because(cause, {.verdict = verdict, .message = message}));
}

// Nothing is thrown where no write fails.
void check_nothing_thrown(CaseRunner& runner, const Played& played, Run& run) {
  for (std::int64_t taken = 0; taken <= run.p.steps(); ++taken) {
    for (const auto& note : run.told(taken)) {
      const Kind kind = note.report.kind;
      if (kind != Kind::refused && kind != Kind::other) continue;
      const Cause threw{"threw", "start() and wait() throw what a write threw, and nothing else"};
      fail(runner, played, cause_of_error(note.report.what).value_or(threw),
           text("no write failed, and start() or wait() threw: ", note.report.what));
    }
  }
}

// The number of steps after which a tensor had these values; -1: never.
std::int64_t steps_of(const Run& run, std::size_t tensor, const std::vector<double>& values) {
  for (std::int64_t steps = 0; steps <= run.p.steps(); ++steps)
    if (values == run.paper.values(tensor, steps)) return steps;
  return -1;
}

std::vector<double> values_in(Run& run, const StorageEvent& written) {
  Bytes seen(written.bytes);
  run.storage.files().read(written.name, 0, seen);
  return as_doubles(DType::float64, seen);
}

// The one write of a tensor of a save.
StorageEvent write_of(CaseRunner& runner, const Played& played, const Run& run, std::size_t save,
                      std::size_t tensor) {
  const std::string& name = run.paper.tensors()[tensor].name;
  const std::string file = run.file(save, tensor);
  std::vector<StorageEvent> found;
  for (const StorageEvent& one : run.writes_of(save)) {
    const bool more = !found.empty() && one.offset > 0 && one.offset == found.back().bytes;
    if (one.name == file && more) found.back().bytes += one.bytes;  // a large write goes in pieces
    if (one.name == file && !more) found.push_back(one);
    if (one.name == file || one.name.find(":" + name + ":") == std::string::npos) continue;
    if (one.name == file + unreadable) {
      fail(runner, played,
           {"snapshot_on_device",
            "clone() copies to the same device: a snapshot lies on a host "
            "device, and to_host() copies what does not"},
           text("of save ", save, ", ", quoted(name), " is on a device that the host cannot read"));
    }
    fail(runner, played,
         {"other_snapshot",
          "a snapshot has all of `contents`: the optimizer's name, and of each "
          "piece its kind, name, shape and boxes"},
         text("of save ", save, ", ", quoted(name), " was handed on as ", one.name,
              "; it should be ", file));
  }
  if (found.empty()) {
    fail(runner, played,
         {"not_written",
          "every start writes all of its contents, and first waits for a "
          "save in flight"},
         text("of save ", save, ", ", quoted(name), " was not written"));
  }
  if (found.size() > 1) {
    fail(runner, played, {"written_twice", "write(snapshot) is called once for each start()"},
         text("of save ", save, ", ", quoted(name), " was written ", found.size(), " times"));
  }
  return found.front();
}

// True if all that a save has is of its own moment or of a later start: then a later snapshot was
// taken over it. A writer that looks at the state itself sees other moments, too.
bool is_overwritten(CaseRunner& runner, const Played& played, Run& run, std::size_t save) {
  const auto starts = run.starts();
  for (std::size_t i = 0; i < run.paper.tensors().size(); ++i) {
    const auto values = values_in(run, write_of(runner, played, run, save, i));
    const auto from = starts.begin() + static_cast<std::ptrdiff_t>(save);
    if (std::find(from, starts.end(), steps_of(run, i, values)) == starts.end()) return false;
  }
  return true;
}

const Cause torn{"torn",
                 "the writer looks at tensors that the next step changes: copy their elements "
                 "before start() returns"};

// Large tensors are compared by some of their elements: all would take a second.
void check_sample(CaseRunner& runner, const Played& played, Run& run) {
  const auto starts = run.starts();
  for (std::size_t save = 0; save < starts.size(); ++save) {
    for (std::size_t i = 0; i < run.paper.tensors().size(); ++i) {
      const auto values = values_in(run, write_of(runner, played, run, save, i));
      for (std::size_t e = 0; e < values.size(); e += 61) {
        if (values[e] == run.paper.value(i, starts[save], e)) continue;
        fail(runner, played, torn,
             text("save ", save, " was begun after ", counted(starts[save], "step"),
                  ", and element ", e, " of its ", quoted(run.paper.tensors()[i].name),
                  " is another one than then"));
      }
    }
  }
}

// Every save that no refusal ended has every tensor, as it was at the call.
void check_snapshots(CaseRunner& runner, const Played& played, Run& run) {
  const auto starts = run.starts();
  for (std::size_t save = 0; save < starts.size(); ++save) {
    if (std::ranges::any_of(run.writes_of(save), &StorageEvent::refused)) continue;
    for (std::size_t i = 0; i < run.paper.tensors().size(); ++i) {
      const auto values = values_in(run, write_of(runner, played, run, save, i));
      if (values == run.paper.values(i, starts[save])) continue;
      const Cause overwritten{"overwritten",
                              "the snapshot of this save was replaced by the next one while it was "
                              "in flight: start() first waits for the save in flight"};
      const std::int64_t seen = steps_of(run, i, values);
      fail(runner, played, is_overwritten(runner, played, run, save) ? overwritten : torn,
           text("save ", save, " was begun after ", counted(starts[save], "step"), ", and its ",
                quoted(run.paper.tensors()[i].name),
                seen < 0 ? text(" is that of no step")
                         : text(" is that after ", counted(seen, "step"))));
    }
  }
}

// Every save without pieces was written, too.
void check_called(CaseRunner& runner, const Played& played, Run& run) {
  for (std::size_t save = 0; save < run.starts().size(); ++save) {
    const auto calls = std::ssize(run.writes_of(save));
    if (calls == 1) continue;
    fail(runner, played,
         {calls == 0 ? "not_written" : "written_twice",
          "write(snapshot) is called once for each start(), also without pieces: what it does "
          "together with other ranks, it has to do then, too"},
         text("the contents of save ", save, " have no pieces, and write was called ",
              counted(calls, "time")));
  }
}

// No step begins later than the one before it is over, but behind a start or wait that has to wait.
void check_pace(CaseRunner& runner, const Played& played, Run& run) {
  double free_s = 0, clock_s = 0;  // when the save in flight is over; the training
  std::size_t step = 0, save = 0;
  for (const char act : run.p.acts) {
    if (act == 't') {
      if (step >= run.steps.asked_s().size()) throw MalformedMessage("a step was left out");
      const double asked_s = run.steps.asked_s()[step++];
      if (asked_s > clock_s) {
        fail(runner, played,
             {"step_waits",
              "start() waits for the write that it has begun; it has to wait only for one that is "
              "still in flight"},
             text("a step could begin at ", seconds_text(clock_s), ", and began at ",
                  seconds_text(asked_s)));
      }
      clock_s = asked_s + StepService::step_s;
      continue;
    }
    clock_s = std::max(clock_s, free_s);
    if (act != 's') continue;
    const auto writes = run.writes_of(save++);
    if (writes.empty() || writes.front().at_s > clock_s) {
      fail(runner, played,
           {"written_at_the_end", "the write begins when start() returns, on another strand"},
           text("start() was called at ", seconds_text(clock_s), ", and nothing was written ",
                writes.empty() ? std::string("at all")
                               : "until " + seconds_text(writes.front().at_s)));
    }
    free_s = writes.back().until_s;
  }
}

void check_one_in_flight(CaseRunner& runner, const Played& played, Run& run) {
  double over_s = 0;
  for (std::size_t save = 0; save < run.starts().size(); ++save) {
    const auto writes = run.writes_of(save);
    if (writes.empty()) continue;
    if (writes.front().at_s < over_s) {
      fail(runner, played, {"two_in_flight", "start() first waits for the save in flight"},
           text("save ", save, " was written from ", seconds_text(writes.front().at_s),
                " on, while another save was in flight until ", seconds_text(over_s)));
    }
    over_s = writes.back().until_s;
  }
}

// The destructor returns when the last write is over.
void check_end(CaseRunner& runner, const Played& played, Run& run) {
  const auto& told = run.told(run.p.steps());
  if (told.size() < 2 || told.back().report.kind != Kind::ended) {
    throw MalformedMessage("the end was not told");
  }
  double over_s = told[told.size() - 2].at_s;
  for (const StorageEvent& one : run.storage.log()) over_s = std::max(over_s, one.until_s);
  if (told.back().at_s == over_s) return;
  fail(runner, played,
       {"other_end",
        "the destructor returns when the save in flight is over: a strand that is destroyed is "
        "joined"},
       text("the last write was over at ", seconds_text(over_s),
            ", and the destructor returned at ", seconds_text(told.back().at_s)));
}

// An error of a write comes out of the next start or wait, once, and that start begins nothing.
void check_error(CaseRunner& runner, const Played& played, Run& run) {
  const Kind expected = run.p.foreign ? Kind::other : Kind::refused;
  int thrown = 0;
  for (std::int64_t taken = 0; taken <= run.p.steps(); ++taken) {
    for (const auto& note : run.told(taken)) {
      const Kind kind = note.report.kind;
      if (const auto own = cause_of_error(note.report.what); own && own->name == "joined_twice")
        fail(runner, played, *own, text("start() or wait() threw: ", note.report.what));
      if (kind != Kind::refused && kind != Kind::other) continue;
      const bool same = note.report.what.find(run.storage.refusal()) != std::string::npos;
      if (kind != expected || !same)
        fail(runner, played, {"other_type", "let what the strand's join() throws through"},
             text("what came out is of another type or text than that: ", note.report.what));
      ++thrown;
    }
  }
  if (thrown != 1) {
    fail(runner, played,
         {thrown == 0 ? "error_lost" : "error_twice",
          "what a write throws comes out of the next start() or wait(), once"},
         text("a write threw, and ", counted(thrown, "call"), " of start() and wait() did"));
  }
  if (run.p.acts.find("ss") != std::string::npos && !run.writes_of(1).empty()) {
    fail(runner, played, {"began_after_an_error", "a start() that throws begins nothing"},
         "a start() threw what the write before it had thrown, and has written all the same");
  }
}

// The process's memory before the first start, and the most of it in the second one.
void check_memory(CaseRunner& runner, const Played& played, Run& run) {
  if (run.writes_of(1).empty()) throw MalformedMessage("the second save wrote nothing");
  if (!run.before_bytes || !run.peak_bytes) return;
  std::int64_t snapshot = 0;
  for (const PaperTensor& one : run.paper.tensors()) snapshot += 8 * numel_of(one.shape);
  const std::int64_t held = *run.peak_bytes - *run.before_bytes;
  if (held <= snapshot + snapshot_slack) return;
  fail(runner, played, {"two_snapshots", "drop the last snapshot before you take the next one"},
       text("while the second snapshot was taken, the process held ", bytes_text(held),
            " more than before the first, and a snapshot has ", bytes_text(snapshot)),
       Verdict::memory);
}

AsyncCase case_of(const Problem& p, std::uint64_t salt, int) {
  const PaperRun paper = p.paper(salt);
  AsyncCase c{.life = {}, .foreign = p.foreign, .renames = p.renames, .away = p.away};
  c.life.tensors = paper.held(PaperRun::Gives::values);
  c.life.state = paper.state(0);
  c.life.acts = acts_of(p.acts);
  return c;
}

std::unique_ptr<Run> run_of(CaseRunner& runner, const Problem& p, std::uint64_t salt) {
  auto made = std::make_unique<Run>(p, salt);
  for (std::size_t save = made->starts().size(); save-- > 0;) {
    made->storage.files().make(folder_of_save(save));
  }
  made->storage.begin({.refused = p.refused, .tokens = keyed_bits(salt, 1)});
  if (!p.asks_memory) return made;
  made->steps.watch([&runner, run = made.get()](std::size_t before) {
    if (before == 0) run->before_bytes = runner.memory_bytes(0);
    runner.take_peak_bytes(0);
  });
  made->storage.watch([&runner, run = made.get()](const StorageEvent& event) {
    if (event.name == run->file(1, 0)) run->peak_bytes = runner.take_peak_bytes(0);
  });
  return made;
}

// One act less, where no write is refused, whose number would be another one's.
void fewer_acts(const Problem& p, std::vector<Problem>& offered) {
  if (p.refused.empty() && !p.asks_memory) std::invoke(without_each(&Problem::acts), p, offered);
}

const RanksChecks checks(ServicesContract<Problem, AsyncCase, std::unique_ptr<Run>>{
    .case_of = case_of,
    .compare =
        [](CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t, const auto&,
           const std::unique_ptr<Run>& run) {
          if (p.refused.empty()) check_nothing_thrown(runner, played, *run);
        },
    .ask_of =
        [](const Problem& p, std::uint64_t, int, const AsyncCase&, Situations& asked) {
          asked.insert(Situation::double_digits);
          if (p.acts.find("ss") != std::string::npos) asked.insert(Situation::same_call_twice);
        },
    .smaller = smaller_by(fewer_acts),
    .services = [](CaseRunner& runner, const Problem& p,
                   std::uint64_t salt) { return std::tuple(run_of(runner, p, salt)); }});

// Trainings of such acts, by these rules.
Question train(const std::vector<Rule>& rules, const std::vector<const char*>& acts,
               const Problem& like = {}) {
  std::vector<Problem> all(acts.size(), like);
  for (std::size_t i = 0; i < acts.size(); ++i) all[i].acts = acts[i];
  const auto look = [rules](CaseRunner& runner, const Played& played, const Problem&,
                            const std::unique_ptr<Run>& run) {
    for (const Rule rule : rules) rule(runner, played, *run);
  };
  return checks.then(look).these(all);
}

const std::vector<Rule> all_rules{check_snapshots, check_pace, check_one_in_flight, check_end};

Question errors(const Problem& like) {
  Problem first = like, second = like;
  first.refused = {1}, second.refused = {0};
  return in_turn(train({check_error, check_snapshots}, {"tstttttwtwtsttttwtw"}, first),
                 train({check_error}, {"tssttw"}, second));
}

}  // namespace

Exam exam() {
  return {
      {"what is written is the state at the call",
       in_turn(train({check_snapshots}, {"tS", "tSt", "tSttt", "tSttttttttSt", "ttStttttwttS"}),
               train({check_snapshots}, {"tStt"}, {.away = true}),
               train({check_snapshots}, {"tSwtS"}, {.renames = true}),
               train({check_called}, {"tSts"}, {.empty = true}))},
      {"a slow storage lengthens no step, and the write begins with start()",
       in_turn(train(all_rules, {"tsttttttttttttt"}, {.call_s = 0.125}),
               train(all_rules, {"tsttttttttttttt"}, {.call_s = 0.5}),
               train(all_rules, {"tsttttttttttttt"}, {.call_s = 3}),
               train(all_rules, {"tsttttsttttstttt"}, {.call_s = 1}))},
      // The second start comes in the middle of a write, one step after the state was another one.
      {"one save is in flight at a time",
       in_turn(train(all_rules, {"tsttst"}, {.call_s = 1.5}),
               train(all_rules, {"tss", "tstwst"}, {.call_s = 2}))},
      {"what a write throws comes out of the next call, once",
       in_turn(errors({}), errors({.foreign = true}))},
      {"the destructor returns when the save in flight is over, and throws nothing",
       in_turn(train(all_rules, {"ts", "tstttttttttt", "t", "tw"}, {.call_s = 2}),
               train({check_end}, {"ts"}, {.refused = {2}}))},
      of_cost("there is one snapshot at a time",
              train({check_memory, check_sample, check_pace, check_one_in_flight}, {"tsttwts"},
                    {.width = 170'000, .asks_memory = true})),
  };
}

}  // namespace lockstep::grader::async_checkpoint
