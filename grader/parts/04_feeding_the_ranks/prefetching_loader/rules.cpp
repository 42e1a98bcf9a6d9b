// The log is walked once for each rule. A Walk keeps what is true at one event: which epoch it is,
// how many of its batches the trainer has had, and which were begun.
#include "grader/parts/04_feeding_the_ranks/prefetching_loader/rules.hpp"
#include "grader/judge/compare.hpp"

#include <algorithm>

#include "engine/base/units.hpp"

namespace lockstep::grader::prefetching_loader {
namespace {

using Kind = TrainerReport::Kind;
using Indices = std::vector<std::int64_t>;

bool is_outcome(Kind kind) {
  return kind == Kind::got_batch || kind == Kind::got_end || kind == Kind::caught ||
         kind == Kind::caught_other;
}

std::string text_of(const Indices& list) {
  std::string out = "[";
  for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 6); ++i) {
    out += text(i ? ", " : "", list[i]);
  }
  return out + (list.size() > 6 ? ", …]" : "]");
}

[[noreturn]] void fail(CaseRunner& runner, const Played& played, std::string cause,
                       std::string message, std::string expected, std::string seen) {
  runner.fail(played, {.cause = std::move(cause),
                       .message = std::move(message),
                       .expected = std::move(expected),
                       .seen = std::move(seen)});
}

struct Walk {
  explicit Walk(const LoaderRun& the_run) : run(the_run) {}

  const LoaderRun& run;
  int begun_epochs = 0;          // how often start() was called
  int epoch = -1;                // -1: none has begun
  bool open = false;             // between starting an epoch and destroying the loader
  std::vector<Indices> batches;  // of the epoch
  std::vector<bool> begun;       // which of them
  std::size_t taken = 0;         // outcomes the trainer has had of them
  std::vector<std::pair<double, double>> reads;  // all so far: from, until
  std::ptrdiff_t abandoned = 0;  // the first of them, which began in epochs before this one

  // Takes a trainer's report into account.
  void follow(const LoaderEvent& event) {
    const Kind kind = event.report.kind;
    if (kind == Kind::starting) {
      open = true;
      const auto which = static_cast<std::size_t>(begun_epochs++);
      if (which >= run.c.epochs.size()) throw MalformedMessage("a start that is not played");
      epoch = run.c.epochs[which];
      batches = batches_of_epoch(epoch);
      begun.assign(batches.size(), false);
      taken = 0;
      abandoned = std::ssize(reads);
    }
    if (kind == Kind::destroying) open = false;
    if (is_outcome(kind) && taken < batches.size()) ++taken;
  }

  std::vector<Indices> batches_of_epoch(int number) const {
    if (number >= std::ssize(run.c.orders)) throw MalformedMessage("an epoch that is not played");
    return data::batches_of(run.c.orders[static_cast<std::size_t>(number)], run.c.options);
  }

  // The batch that is read, not begun before; nullopt when there is none.
  std::optional<std::size_t> begin_read(const LoaderEvent& event) {
    reads.emplace_back(event.at_s, event.until_s);
    if (!open) return std::nullopt;
    for (std::size_t k = 0; k < batches.size(); ++k) {
      if (begun[k] || batches[k] != *event.read) continue;
      begun[k] = true;
      return k;
    }
    return std::nullopt;
  }

  // Reads under way at a moment: begun, and not over.
  std::int64_t reading(double at_s) const { return reading(at_s, std::ssize(reads)); }
  std::int64_t reading(double at_s, std::ptrdiff_t of_the_first) const {
    return std::count_if(reads.begin(), reads.begin() + of_the_first, [&](const auto& read) {
      return read.first <= at_s && at_s < read.second;
    });
  }

  std::size_t window_end() const {
    return std::min(batches.size(), taken + static_cast<std::size_t>(run.c.options.prefetch));
  }
  std::string place() const { return text("batch ", taken, " of epoch ", epoch); }
};

bool holds(const TrainerReport& seen, const Indices& batch, const LoaderRun& run) {
  if (seen.kind != Kind::got_batch || seen.labels.size() != batch.size() ||
      seen.inputs.size() != batch.size() * sample_inputs) {
    return false;
  }
  for (std::size_t s = 0; s < batch.size(); ++s) {
    if (seen.labels[s] != run.samples.label(batch[s])) return false;
    const auto inputs = std::span(seen.inputs).subspan(s * sample_inputs, sample_inputs);
    if (first_other_bits(inputs, run.samples.inputs_of(batch[s]))) return false;
  }
  return true;
}

// Names what the trainer got.
std::string name_of(const TrainerReport& seen, const Walk& walk) {
  switch (seen.kind) {
    case Kind::got_end:
      return "the end of the epoch";
    case Kind::caught:
    case Kind::caught_other:
      return "the exception '" + seen.what + "'";
    default:
      break;
  }
  std::vector<int> epochs{walk.epoch};
  for (int other = 0; std::cmp_less(other, walk.run.c.orders.size()); ++other) {
    if (other != walk.epoch) epochs.push_back(other);
  }
  for (const int epoch : epochs) {
    if (epoch < 0) continue;
    const auto batches = walk.batches_of_epoch(epoch);
    for (std::size_t k = 0; k < batches.size(); ++k) {
      if (!holds(seen, batches[k], walk.run)) continue;
      return text("batch ", k, epoch == walk.epoch ? "" : text(" of epoch ", epoch));
    }
  }
  return text("a batch of ", counted(std::ssize(seen.labels), "sample"),
              " that matches no batch of any epoch");
}

void compare_outcome(CaseRunner& runner, const Played& played, const Walk& walk,
                     const TrainerReport& seen) {
  const LoaderRun& run = walk.run;
  const std::string asked = text("next() for ", walk.place());
  if (walk.taken == walk.batches.size()) {
    if (seen.kind == Kind::got_end) return;
    const bool tail = seen.kind == Kind::got_batch && run.c.options.last == data::LastBatch::drop;
    const std::string got = tail ? text("a batch of ", counted(std::ssize(seen.labels), "sample"))
                                 : name_of(seen, walk);
    fail(runner, played, tail ? "keeps_the_tail" : "goes_on",
         text("epoch ", walk.epoch, " has ", counted(std::ssize(walk.batches), "batch"),
              ", but next() then gave ", got, tail ? ": drop the last, short batch" : ""),
         "nothing: the end of the epoch", got);
  }
  const Indices& batch = walk.batches[walk.taken];
  const std::string damage = run.samples.damage_of(batch);
  const std::string got = name_of(seen, walk);
  if (!damage.empty()) {
    if (seen.kind == Kind::caught && seen.what == damage) return;
    const bool other = seen.kind == Kind::caught_other;
    fail(runner, played, other ? "other_exception" : "exception_lost",
         text("reading ", walk.place(), " throws '", damage, "'; next() for that batch gave ", got,
              other ? ", of another type: rethrow the caught exception (std::exception_ptr)"
                    : ": an exception belongs to its batch and must leave that next()"),
         "DamagedSample: " + damage, got);
  }
  if (holds(seen, batch, run)) {
    const Indices shape{std::ssize(batch), run.c.width};
    if (seen.inputs_shape == shape && seen.dtype == run.c.options.dtype) return;
    fail(runner, played, "dtype",
         text(asked, " gave its samples as ", lockstep::name_of(seen.dtype),
              "; LoaderOptions::dtype says ", lockstep::name_of(run.c.options.dtype)),
         std::string(lockstep::name_of(run.c.options.dtype)),
         std::string(lockstep::name_of(seen.dtype)));
  }
  if (seen.kind == Kind::caught && walk.taken > 0 &&
      run.samples.damage_of(walk.batches[walk.taken - 1]) == seen.what) {
    fail(runner, played, "thrown_again",
         text(asked, " threw '", seen.what,
              "' again, which the call before it threw: a call takes its batch away, also when it "
              "throws, and the next call returns the batch behind it"),
         text("batch ", walk.taken), got);
  }
  // An epoch that was given up may have had batches that the loader could not read.
  const auto said_of = [&](std::int64_t sample) {
    return run.samples.damage_of({&sample, 1}) == seen.what;
  };
  if (seen.kind == Kind::caught && walk.begun_epochs > 1 &&
      std::ranges::any_of(run.samples.damaged, said_of)) {
    fail(runner, played, "old_exception",
         text(asked, " threw '", seen.what,
              "', which a batch of an epoch before had thrown: start() must forget the failures of "
              "the old epoch as it forgets its batches"),
         text("batch ", walk.taken), got);
  }
  const bool old = got.rfind("batch ", 0) == 0 && got.find(" of epoch ") != std::string::npos;
  const bool later = !old && got.rfind("batch ", 0) == 0 && got != text("batch ", walk.taken);
  fail(runner, played,
       old     ? "old_epoch"
       : later ? "other_order"
               : "other_batch",
       text(asked, " gave ", got,
            later ? ": batches must come in the sampler's order, not in the order in which workers "
                    "finish"
            : old ? ": this batch is from another epoch. Was the rest of that epoch discarded, and "
                    "was the sampler asked for the epoch passed to start()?"
                  : ""),
       text("batch ", walk.taken, ": samples ", text_of(batch)), got);
}

}  // namespace

void check_outcomes(CaseRunner& runner, const Played& played, const LoaderRun& run) {
  Walk walk(run);
  for (const LoaderEvent& event : run.log) {
    if (event.read) continue;
    if (is_outcome(event.report.kind)) compare_outcome(runner, played, walk, event.report);
    walk.follow(event);
  }
}

void check_reads(CaseRunner& runner, const Played& played, const LoaderRun& run) {
  Walk walk(run);
  const auto& options = run.c.options;
  for (const LoaderEvent& event : run.log) {
    if (!event.read) {
      walk.follow(event);
      continue;
    }
    const auto batch = walk.begin_read(event);
    const std::string what = text("samples ", text_of(*event.read));
    if (!batch && walk.epoch >= 0 && !walk.open) {
      fail(runner, played, "reads_after_the_end",
           text("after the destructor was called, the loader began to read ", what,
                ": it must start no more reads and wait only for those in progress"),
           "no read", what);
    }
    if (!batch) {
      fail(runner, played, "reads_something_else",
           text("the loader read ", what,
                walk.epoch < 0
                    ? " before an epoch was started"
                    : text(", which is not an unread batch of epoch ", walk.epoch,
                           ": was an abandoned epoch still read, or a batch read twice?")),
           "each batch of the epoch once", what);
    }
    if (*batch >= walk.window_end()) {
      fail(
          runner, played, "too_far_ahead",
          text(
              "batch ", *batch, " was begun when the trainer had received ",
              counted(walk.taken, "batch"), ": with prefetch ", options.prefetch, ", batch ",
              walk.window_end() - 1,
              " is the last that may be in flight or waiting; an unbounded queue fills the memory"),
          text("batches up to ", walk.window_end() - 1), text("batch ", *batch));
    }
    if (const auto reading = walk.reading(event.at_s); reading > options.workers) {
      fail(runner, played, "too_many_workers",
           text(counted(reading, "batch"), " were being read at once by ", options.workers,
                options.workers == 1 ? " worker" : " workers"),
           text(options.workers), text(reading));
    }
  }
}

void check_ahead(CaseRunner& runner, const Played& played, const LoaderRun& run) {
  Walk walk(run);
  const auto& options = run.c.options;
  const LoaderEvent* busy = nullptr;  // the trainer's report, as long as it lasts
  const auto look = [&](double at_s) {
    const auto begun = std::count(walk.begun.begin(), walk.begun.end(), true);
    const auto reading = walk.reading(at_s), abandoned = walk.reading(at_s, walk.abandoned);
    if (reading >= options.workers) return;
    if (std::cmp_greater_equal(begun + abandoned, walk.window_end())) return;
    const auto taken = static_cast<std::int64_t>(walk.taken);
    const std::string seen =
        text(reading, reading == 1 ? " batch was" : " batches were", " being read and ",
             std::max<std::int64_t>(begun - taken - reading, 0), " waiting");
    fail(runner, played, reading == 0 ? "not_ahead" : "too_few_ahead",
         text(taken == 0 ? "after start(), before the first next()"
                         : text("while the trainer held batch ", taken - 1),
              ", ", seen, "; with prefetch ", options.prefetch, " and ", options.workers,
              options.workers == 1 ? " worker" : " workers", ", batch ", begun,
              reading == 0 ? " should have been in flight. Does next() read it itself?"
                           : " should have been in flight too"),
         text("batch ", begun, " begun: the last of the next ", options.prefetch, " is batch ",
              walk.window_end() - 1),
         seen);
  };
  // Every moment at which something may have had to begin: when the trainer gets busy, and when a
  // worker becomes free meanwhile. What is begun at that very moment counts.
  const auto look_until = [&](double until_s) {
    if (busy == nullptr) return;
    std::vector<double> moments{busy->at_s};
    for (const auto& [from_s, over_s] : walk.reads) {
      if (over_s > busy->at_s && over_s < busy->until_s) moments.push_back(over_s);
    }
    for (const double moment : moments) {
      if (moment < until_s) look(moment);
    }
  };
  for (const LoaderEvent& event : run.log) {
    look_until(event.at_s);
    if (event.read) {
      walk.begin_read(event);
      continue;
    }
    walk.follow(event);
    const Kind kind = event.report.kind;
    const bool lasts = event.until_s > event.at_s && walk.open;
    busy = lasts && kind != Kind::starting ? &event : nullptr;
  }
}

void check_prompt(CaseRunner& runner, const Played& played, const LoaderRun& run) {
  Walk walk(run);
  std::vector<std::pair<Indices, double>> read;  // in this epoch: which, until when
  double asked_s = 0;                            // when the trainer called
  double before_s = 0;                           // when the reads before the epoch are over
  for (const LoaderEvent& event : run.log) {
    if (event.read) {
      if (event.strand == 0) {
        fail(runner, played, "reads_itself",
             text("samples ", text_of(*event.read),
                  " were read by the strand that calls next(); only the workers' strands may read"),
             "a read by a worker", "a read by the trainer's strand");
      }
      read.emplace_back(*event.read, event.until_s);
      continue;
    }
    const Kind kind = event.report.kind;
    if (kind == Kind::sampling) {
      if (event.strand == 0) continue;
      fail(runner, played, "samples_elsewhere",
           "a worker asked the sampler for an order; only start() may ask it, on the strand that "
           "made the loader: a sampler need not be thread-safe",
           "the strand that made the loader", "a worker's strand");
    }
    double expected_s = asked_s;
    std::string what = text("next() for ", walk.place());
    if (kind == Kind::started) {
      expected_s = std::max(asked_s, before_s);
      what = text("start(", walk.epoch, ")");
    }
    if (is_outcome(kind) && walk.taken < walk.batches.size()) {
      for (const auto& [indices, until_s] : read) {
        if (indices == walk.batches[walk.taken]) expected_s = std::max(asked_s, until_s);
      }
    }
    if ((is_outcome(kind) || kind == Kind::started) && event.at_s > expected_s) {
      fail(runner, played, kind == Kind::started ? "start_waits" : "next_waits",
           text(what, " was called at ", asked_s, " s and returned at ", event.at_s, " s, ",
                kind == Kind::started
                    ? "although no read of an earlier epoch was in progress: the workers must read "
                      "ahead while the trainer goes on"
                    : text("although its batch was ready at ", expected_s,
                           " s: next() waits for its own batch only. Does a worker read inside the "
                           "monitor and so lock the trainer out?")),
           text(expected_s, " s"), text(event.at_s, " s"));
    }
    if (kind == Kind::starting) {
      for (const auto& [indices, until_s] : read) before_s = std::max(before_s, until_s);
      read.clear();
    }
    walk.follow(event);
    asked_s = event.until_s;
  }
}

void check_end(CaseRunner& runner, const Played& played, const LoaderRun& run) {
  double called_s = 0, over_s = 0, returned_s = 0;
  for (const LoaderEvent& event : run.log) {
    if (event.read) over_s = std::max(over_s, event.until_s);
    if (!event.read && event.report.kind == Kind::destroying) called_s = event.at_s;
    if (!event.read && event.report.kind == Kind::destroyed) returned_s = event.at_s;
  }
  const double expected_s = std::max(called_s, over_s);
  if (returned_s == expected_s) return;
  fail(runner, played, returned_s > expected_s ? "ends_late" : "ends_early",
       text("the destructor was called at ", called_s, " s and the last read ended at ", over_s,
            " s, but it returned at ", returned_s, " s"),
       text(expected_s, " s"), text(returned_s, " s"));
}

}  // namespace lockstep::grader::prefetching_loader
