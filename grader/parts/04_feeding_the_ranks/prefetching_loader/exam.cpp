// The exam of prefetching_loader. No clock of the machine is looked at: reading a batch takes
// virtual time, as much as the judge says, and so does training on one. So "while the trainer holds
// batch 0" is a span of time of which the judge knows what was asked for in it.
#include "grader/parts/04_feeding_the_ranks/prefetching_loader/case.hpp"

#include <algorithm>
#include <numeric>

#include "grader/judge/case_runner.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/04_feeding_the_ranks/prefetching_loader/rules.hpp"

namespace lockstep::grader::prefetching_loader {
namespace {

using data::LastBatch;
using Rule = void (*)(CaseRunner&, const Played&, const LoaderRun&);
const std::vector<Rule> all_rules{check_outcomes, check_reads,  check_ahead,
                                  check_prompt,   check_memory, check_end};

// Some ten times what the wordiest case needs.
constexpr std::int64_t requests_max = 5'000;

// Seconds that reading batch k takes, and that the trainer holds a batch.
struct Pace {
  std::function<double(std::size_t)> read_s = [](std::size_t) { return 1.0; };
  double hold_s = 0.25;
};

struct Problem {
  std::int64_t samples = 0;
  data::LoaderOptions options{};
  int epochs = 1;
  std::vector<LoaderStep> steps{};  // empty: every epoch to its end, and once more
  std::vector<int> which{};         // epoch each start is for; empty: 0, 1, …
  Pace pace{};
  std::vector<std::size_t> damaged{};  // batches of epoch 0 that cannot be read
  std::int64_t repeated = 0;  // samples that the sampler gives twice, as a padding one does
  std::int64_t width = sample_inputs;
  LoaderCase::Damage damage = LoaderCase::Damage::exception;
  SampleDigits digits = SampleDigits::few;
  Odd odd = Odd::none;

  std::string description() const {
    return text(samples, samples == 1 ? " sample" : " samples", " in batches of ",
                options.batch_size, options.last == LastBatch::drop ? ", the tail dropped" : "",
                ", ", options.workers, options.workers == 1 ? " worker" : " workers", ", prefetch ",
                options.prefetch,
                damaged.empty() ? "" : text(", damaged batches: ", damaged.size()),
                odd == Odd::not_a_number ? ", a NaN in each sample"
                : odd == Odd::infinity   ? ", an infinity in each sample"
                                         : "");
  }
};

// Steps: s starts the next epoch, n asks for a batch.
std::vector<LoaderStep> steps_of(std::string_view letters) {
  std::vector<LoaderStep> steps;
  for (const char letter : letters) {
    steps.push_back(letter == 's' ? LoaderStep::start : LoaderStep::next);
  }
  return steps;
}

// The situations into which a case puts the loader.
Situations asked_by(const LoaderCase& c, const Samples& samples) {
  Situations asked;
  for (const auto& order : c.orders) {
    for (const std::int64_t sample : order) {
      const std::vector<double> inputs = samples.inputs_of(sample);
      ask_of_values(inputs, asked);
      const bool fine = static_cast<double>(static_cast<float>(inputs.front())) != inputs.front();
      if (fine && c.options.dtype == DType::float64) asked.insert(Situation::double_digits);
    }
  }
  if (std::ranges::adjacent_find(c.epochs) != c.epochs.end()) {
    asked.insert(Situation::same_call_twice);
  }
  return asked;
}

void play(CaseRunner& runner, const Problem& p, const std::vector<Rule>& rules) {
  LoaderCase c{p.options, {}, p.which, p.steps, p.width, p.damage};
  Samples samples{.salt = runner.draw(), .digits = p.digits, .odd = p.odd};
  for (int epoch = 0; epoch < p.epochs; ++epoch) {
    c.orders.push_back(keyed_order(p.samples, runner.draw()));
    if (p.which.empty()) c.epochs.push_back(epoch);
    auto& order = c.orders.back();
    for (std::int64_t i = 0; i < p.repeated; ++i)
      order.push_back(order[static_cast<std::size_t>(i)]);
    const std::size_t batches = data::batches_of(order, p.options).size();
    if (!p.steps.empty()) continue;
    c.steps.push_back(LoaderStep::start);
    c.steps.insert(c.steps.end(), batches + 2, LoaderStep::next);
  }
  std::map<std::int64_t, std::size_t> batch_of;  // by its first sample, in epoch 0
  if (!c.orders.empty()) {
    const auto batches = data::batches_of(c.orders.front(), p.options);
    for (std::size_t k = 0; k < batches.size(); ++k) batch_of[batches[k].front()] = k;
    for (const std::size_t k : p.damaged) samples.damaged.insert(batches[k].back());
  }
  LoaderLog log;
  const auto read_s = [&](std::int64_t sample) {
    const auto batch = batch_of.find(sample);
    return p.pace.read_s(batch == batch_of.end() ? 0 : batch->second);
  };
  SamplesService served(samples, read_s, log);
  TrainerService trainer(
      p.pace.hold_s, [&](int rank) { return runner.memory_bytes(rank); }, log);
  const auto played = play_served(runner, p.description(), std::vector{c}, {&served, &trainer},
                                  requests_max, asked_by(c, samples));
  if (!played) return;
  require_reports(c, log);
  for (const Rule rule : rules) rule(runner, *played, {c, samples, log});
}

void in_order(CaseRunner& runner, const std::vector<int>& of_workers) {
  for (const int workers : of_workers) {
    for (const int prefetch : {1, 2, 5}) {
      for (const std::int64_t samples : {0, 1, 3, 4, 5, 17}) {
        const Problem p{.samples = samples,
                        .options = {.batch_size = 4, .workers = workers, .prefetch = prefetch}};
        play(runner, p, {check_outcomes});
      }
    }
  }
  const Problem p{
      .samples = 12,
      .options = {
          .batch_size = 3, .workers = of_workers.front(), .prefetch = 3, .dtype = DType::float64}};
  play(runner, p, {check_outcomes});
}

void ahead(CaseRunner& runner, const std::vector<int>& of_workers) {
  for (const int prefetch : {1, 2, 3, 4, 6, 10}) {
    for (const int workers : of_workers) {
      // Batch 0 comes soon, and everything else is still under way while the trainer holds it.
      const Pace slow{[](std::size_t k) { return k == 0 ? 1.0 : 100.0; }, 10};
      const Problem p{.samples = 40,
                      .options = {.batch_size = 4, .workers = workers, .prefetch = prefetch},
                      .pace = slow};
      play(runner, p, {check_outcomes, check_ahead, check_prompt});
    }
  }
}

void bounded(CaseRunner& runner, const std::vector<int>& of_workers) {
  for (const int workers : of_workers) {
    for (const int prefetch : {1, 2, 3, 8}) {
      const Pace slow_trainer{[](std::size_t) { return 1.0; }, 50};
      const Problem p{.samples = 48,
                      .options = {.batch_size = 4, .workers = workers, .prefetch = prefetch},
                      .pace = slow_trainer};
      play(runner, p, all_rules);
    }
  }
  // 24 batches of 160 to 320 kB: who keeps them has four megabytes, wherever they lie. Their size
  // is drawn, so that nobody knows them by it.
  for (const int workers : of_workers) {
    const Problem p{.samples = 48,
                    .options = {.batch_size = 2, .workers = workers, .prefetch = 2},
                    .pace = {[](std::size_t) { return 1.0; }, 50},
                    .width = runner.draw_between(20'000, 40'000)};
    play(runner, p, all_rules);
  }
}

void later_first(CaseRunner& runner) {
  for (const int prefetch : {2, 3, 4}) {
    for (const int workers : {2, prefetch}) {
      const auto window = static_cast<std::size_t>(prefetch);
      const Pace reversed{
          [window](std::size_t k) { return static_cast<double>(10 * (window - k % window)); }, 3};
      const Problem p{.samples = 30,
                      .options = {.batch_size = 3, .workers = workers, .prefetch = prefetch},
                      .pace = reversed};
      play(runner, p, all_rules);
    }
  }
}

void damaged(CaseRunner& runner) {
  const std::vector<std::vector<std::size_t>> choices{{2}, {0}, {5}, {1, 2, 3}, {0, 1, 2, 3, 4, 5}};
  for (const auto& batches : choices) {
    for (const int workers : {1, 2, 3}) {
      Problem p{.samples = 24, .options = {.batch_size = 4, .workers = workers, .prefetch = 3}};
      p.damaged = batches;
      play(runner, p, all_rules);
    }
  }
  // A dataset may throw anything.
  Problem plain{.samples = 24, .options = {.batch_size = 4, .workers = 2, .prefetch = 3}};
  plain.damaged = {1, 4};
  plain.damage = LoaderCase::Damage::plain;
  play(runner, plain, all_rules);
}

void epochs(CaseRunner& runner) {
  for (const int workers : {1, 3}) {
    for (const char* steps : {"snnnnnnsnnnnnnn", "snnsnnnnnnn", "ssnnnnnnn", "snsnsnnnnnn"}) {
      const auto letters = std::string_view(steps);
      const Problem p{.samples = 15,
                      .options = {.batch_size = 3, .workers = workers, .prefetch = 3},
                      .epochs = static_cast<int>(std::count(letters.begin(), letters.end(), 's')),
                      .steps = steps_of(letters),
                      .pace = {[](std::size_t) { return 4.0; }, 1}};
      play(runner, p, all_rules);
    }
    // The epochs that start() is given need not be 0, 1, 2: a run that goes on begins later.
    const Problem resumed{.samples = 15,
                          .options = {.batch_size = 3, .workers = workers, .prefetch = 3},
                          .epochs = 4,
                          .steps = steps_of("snnnnnnsnnnnnnsnnnnnn"),
                          .which = {3, 1, 3}};
    play(runner, resumed, all_rules);
  }
  // A batch of the first epoch could not be read, and the epoch ends before it is asked for.
  for (const int workers : {1, 3}) {
    const Problem given_up{.samples = 15,
                           .options = {.batch_size = 3, .workers = workers, .prefetch = 3},
                           .epochs = 2,
                           .steps = steps_of("snnsnnnnnn"),
                           .pace = {[](std::size_t) { return 4.0; }, 20},
                           .damaged = {2, 3}};
    play(runner, given_up, {check_outcomes});
  }
  // The same epoch again, after its end and in its middle.
  for (const char* steps : {"snnnnnnsnnnnnn", "snnsnnnnnn"}) {
    const Problem again{.samples = 15,
                        .options = {.batch_size = 3, .workers = 2, .prefetch = 3},
                        .epochs = 3,
                        .steps = steps_of(steps),
                        .which = {2, 2}};
    play(runner, again, all_rules);
  }
}

// Samples come as they are, to the last digit.
void odd_samples(CaseRunner& runner) {
  Problem p{.samples = 9,
            .options = {.batch_size = 4, .workers = 2, .prefetch = 2, .dtype = DType::float64}};
  p.digits = SampleDigits::of_float64;
  play(runner, p, {check_outcomes});
  p.options.dtype = DType::float32;
  p.digits = SampleDigits::few;
  for (const Odd odd : {Odd::not_a_number, Odd::infinity}) {
    p.odd = odd;
    play(runner, p, {check_outcomes});
  }
}

void tails(CaseRunner& runner) {
  for (const LastBatch last : {LastBatch::keep, LastBatch::drop}) {
    for (const std::int64_t samples : {2, 4, 9, 11}) {
      for (const std::int64_t repeated : {0, 1}) {
        const Problem p{.samples = samples,
                        .options = {.batch_size = 4, .last = last, .workers = 2, .prefetch = 2},
                        .epochs = 2,
                        .repeated = repeated};
        play(runner, p, all_rules);
      }
    }
  }
}

void early_end(CaseRunner& runner) {
  for (const int workers : {1, 2, 4}) {
    for (const char* steps : {"", "n", "s", "sn", "snnn", "snnsn"}) {
      const auto letters = std::string_view(steps);
      Problem p{.samples = 40,
                .options = {.batch_size = 2, .workers = workers, .prefetch = 3},
                .epochs = static_cast<int>(std::count(letters.begin(), letters.end(), 's')),
                .steps = steps_of(letters),
                .pace = {[](std::size_t) { return 7.0; }, 2}};
      play(runner, p, all_rules);
    }
  }
}

}  // namespace

Exam exam() {
  return {
      {.name =
           "with one worker every batch comes in the sampler's order, then the end of the epoch",
       .run = [](CaseRunner& runner) { in_order(runner, {1}); },
       .begins = Step{"one worker", 30}},
      {"one worker reads `prefetch` batches ahead and no more; next() waits for its own batch only",
       [](CaseRunner& runner) {
         ahead(runner, {1});
         bounded(runner, {1});
       }},
      {.name = "with several workers every batch comes in the sampler's order, for any prefetch",
       .run =
           [](CaseRunner& runner) {
             in_order(runner, {2, 3, 4});
           },
       .begins = Step{"several workers, and batches in order", 40}},
      {"while the trainer holds batch 0, the next `prefetch` batches are in flight",
       [](CaseRunner& runner) {
         ahead(runner, {2, 4, 9});
       }},
      {"at most `prefetch` batches are in flight or waiting",
       [](CaseRunner& runner) {
         bounded(runner, {2, 4});
       }},
      {"batches come in order, each as soon as it is ready, even if later ones are ready first",
       later_first},
      {.name = "an exception leaves the next() of its batch, and later batches still come",
       .run = damaged,
       .begins = Step{"exceptions, epochs and the end", 30}},
      {"samples come as the dataset holds them: digits, NaN and infinity", odd_samples},
      {"start() begins a new epoch afresh, even in the middle of another", epochs},
      {"a short last batch is kept or dropped, with or without padding by the sampler", tails},
      {"a loader that is destroyed early starts no more reads and waits for those in progress",
       early_end},
  };
}

}  // namespace lockstep::grader::prefetching_loader
