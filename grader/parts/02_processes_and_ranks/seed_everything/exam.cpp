// The exam of seed_everything. The judge expects no particular numbers: it knows which streams are
// the same and which are not, asks for many, and looks for two that should agree and do not, or
// should not and do.
#include "grader/parts/02_processes_and_ranks/seed_everything/streams.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <ctime>
#include <map>
#include <numeric>

#include "grader/exam/function/exam.hpp"

namespace lockstep::grader::seed_everything {
namespace {

[[noreturn]] void fail(CaseRunner& runner, const Played& played, const std::string& what,
                       const std::string& expected, const SeedAnswer& where, const Cause& cause) {
  runner.fail(played, because(cause, {.message = text(what, " where ", expected, " was expected"),
                                      .expected = expected,
                                      .seen = what,
                                      .where = text_of(where.question)}));
}

void check_purpose(CaseRunner& runner, const Played& played, const std::vector<SeedAnswer>& all,
                   std::size_t purpose) {
  std::map<Stream, const SeedAnswer*> of_stream;
  std::map<std::uint64_t, const SeedAnswer*> of_seed;
  for (const SeedAnswer& asked : all) {
    const std::uint64_t seed = asked.seeds.*purposes[purpose];
    const SeedAnswer& first =
        *of_stream.emplace(stream_of(asked.question, purpose), &asked).first->second;
    if (const std::uint64_t other = first.seeds.*purposes[purpose]; other != seed) {
      fail(runner, played,
           text(names[purpose], " is ", other, " (", text_of(first.question), ") and ", seed, " (",
                text_of(asked.question), ")"),
           "the same seed", asked, cause_of_difference(purpose, first, asked));
    }
    const SeedAnswer& holder = *of_seed.emplace(seed, &asked).first->second;
    if (stream_of(holder.question, purpose) != stream_of(asked.question, purpose)) {
      fail(runner, played,
           text(names[purpose], " is ", seed, " both for ", text_of(holder.question), " and for ",
                text_of(asked.question)),
           "a different seed for each", asked, cause_of_sharing(purpose, holder, asked));
    }
  }
}

// The noise of one purpose must not be that of another, nor the numbers of the first weights.
void check_across(CaseRunner& runner, const Played& played, const std::vector<SeedAnswer>& all) {
  std::map<std::uint64_t, std::pair<std::size_t, const SeedAnswer*>> of_seed;
  for (const std::size_t purpose : {dropout, dropout_sharded, augmentation, model, sampler}) {
    for (const SeedAnswer& asked : all) {
      const std::uint64_t seed = asked.seeds.*purposes[purpose];
      const auto [other, holder] = of_seed.emplace(seed, std::pair(purpose, &asked)).first->second;
      if (other == purpose || (other == model && purpose == sampler)) continue;
      fail(runner, played,
           text(names[other], " (", text_of(holder->question), ") and ", names[purpose], " (",
                text_of(asked.question), ") are both ", seed),
           "a different seed for each", asked,
           {"purposes_share",
            "two unrelated purposes would draw the same numbers; mix the purpose into the seed"});
    }
  }
}

// Seeds that are the time in seconds do not change while an exam lasts: they are told by their
// size.
void check_clock(CaseRunner& runner, const Played& played, const std::vector<SeedAnswer>& all) {
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  for (const SeedAnswer& asked : all) {
    for (std::size_t purpose = 0; purpose < purposes.size(); ++purpose) {
      const std::uint64_t seed = asked.seeds.*purposes[purpose];
      for (const std::uint64_t base : {std::uint64_t{0}, asked.question.run_seed}) {
        const auto age = now - static_cast<std::int64_t>(seed - base);
        if (age < -5000 || age > 5000) continue;
        fail(runner, played, text(names[purpose], " is ", seed, " for ", text_of(asked.question)),
             "a seed derived from the run seed", asked,
             {"clock", "this is the time of day, so tomorrow's run would differ"});
      }
    }
  }
}

// Places and workers are numbers of 31 bits, so one run has more streams than 32 bits have values:
// seeds of one run that all lie within 2^32 numbers of each other must collide somewhere.
void check_width(CaseRunner& runner, const Played& played,
                 const std::vector<SeedAnswer>& of_one_run) {
  for (const std::size_t purpose : {dropout, dropout_sharded, augmentation}) {
    std::uint64_t least = ~std::uint64_t{0}, most = 0;
    for (const SeedAnswer& asked : of_one_run) {
      least = std::min(least, asked.seeds.*purposes[purpose]);
      most = std::max(most, asked.seeds.*purposes[purpose]);
    }
    if (most - least >= std::uint64_t{1} << 32) continue;
    fail(runner, played,
         text("each ", names[purpose], " seed of ", of_one_run.size(), " places lies between ",
              least, " and ", most),
         "a seed of 64 bits", of_one_run.front(),
         {"narrow",
          "the seeds have only 32 bits (a 32-bit hash, cast or generator). Among 200,000 streams "
          "with 32-bit seeds, two streams share a seed in 99 of 100 runs"});
  }
}

bool valid(const SeedQuestion& q) {
  return q.where.data >= 0 && q.where.tensor >= 0 && q.where.pipeline >= 0 && q.loader_worker >= 0;
}

// The right answer to one question depends on all others, so `wrong` stays empty.
const FunctionContract<SeedQuestion, Seeds> contract{
    .text_of = [](const SeedQuestion& q) { return text_of(q); },
    .refusals = {{.valid = valid,
                  .accepts = {"accepts_nonsense",
                              "coordinates and workers count from 0; the checks above your region "
                              "refuse the rest"},
                  .nonsense = {{7, {-1, 0, 0}, 0},
                               {7, {0, -1, 0}, 0},
                               {7, {0, 0, -1}, 0},
                               {7, {0, 0, 0}, -1},
                               {7, {0, 0, 0}, INT_MIN}}}},
    .sizes = [](const SeedQuestion& q) -> Sizes {
      const auto one_more = [](int number) { return std::int64_t{number} + 1; };
      return {one_more(q.where.data),
              {one_more(q.where.tensor), one_more(q.where.pipeline), one_more(q.loader_worker)}};
    },
    .least_count = 1};

using Questions = std::vector<SeedQuestion>;

// The questions of each rank.
std::optional<Played> play(CaseRunner& runner, const std::string& description,
                           const std::vector<Questions>& of_ranks) {
  CaseSetup setup;
  setup.description = description;
  for (const Questions& questions : of_ranks) setup.inputs.push_back(fields_to_bytes(questions));
  setup.situations = situations_of(contract, of_ranks.front());
  return runner.play(setup);
}

std::vector<SeedAnswer> answers_of(CaseRunner& runner, const Played& played,
                                   const std::vector<Questions>& of_ranks) {
  std::vector<SeedAnswer> all;
  for (int process = 0; std::cmp_less(process, of_ranks.size()); ++process) {
    ByteReader& given = played.results->of(process);
    for (const SeedQuestion& q : of_ranks[static_cast<std::size_t>(process)]) {
      const Ending ending = read_fields<Ending>(given);
      const Seeds seeds = read_fields<Seeds>(given);
      if (answers(runner, played, contract, q, ending)) all.push_back({q, seeds, process});
    }
  }
  return all;
}

void check_purposes(CaseRunner& runner, const Played& played, const std::vector<SeedAnswer>& all) {
  for (const std::size_t purpose : {model, sampler, dropout, dropout_sharded, augmentation}) {
    check_purpose(runner, played, all, purpose);
  }
}

void ask(CaseRunner& runner, const std::string& description,
         const std::vector<SeedQuestion>& once) {
  const std::vector<Questions> of_ranks{with_repeats(contract, once)};
  const auto played = play(runner, description, of_ranks);
  if (!played) return;
  const std::vector<SeedAnswer> all = answers_of(runner, *played, of_ranks);
  check_purposes(runner, *played, all);
  check_across(runner, *played, all);
  check_clock(runner, *played, all);
}

// Far from the numbers that questions count with, and from the time of day; short enough to read.
std::uint64_t drawn_run_seed(CaseRunner& runner) { return (runner.draw() >> 44 | 1) << 20; }

int drawn(CaseRunner& runner, int below) {
  return static_cast<int>(runner.draw() % static_cast<std::uint64_t>(below));
}

// The last of each number of ranks along one axis at a time, and the largest run seeds.
std::vector<SeedQuestion> of_every_size(std::uint64_t run_seed) {
  std::vector<SeedQuestion> questions;
  std::vector<int> last{70'000};
  for (const int count : every_rank_count) last.push_back(count - 1);
  for (const int number : last) {
    questions.push_back({run_seed, {number, 0, 0}, 0});
    questions.push_back({run_seed, {0, number, 0}, 0});
    questions.push_back({run_seed, {0, 0, number}, 0});
    questions.push_back({run_seed, {0, 0, 0}, number});
  }
  for (const std::uint64_t seed : {~std::uint64_t{0}, ~std::uint64_t{0} - 1}) {
    for (const int data : {0, 1, 2}) questions.push_back({seed, {data, 0, 0}, 0});
  }
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"the same question gets the same seeds, in one process and in another",
       [](CaseRunner& runner) {
         // Each rank asks in another order, so none can number what it is asked.
         const SeedQuestion one{drawn_run_seed(runner), {3, 1, 2}, 1};
         SeedQuestion other = one;
         other.where = {4, 2, 3}, other.loader_worker = 2;
         const std::vector<Questions> of_ranks{
             {one, one, other, one}, {other, one, one, other}, {one, other, other, one}};
         const auto played =
             play(runner, "two questions, again and again, on three ranks", of_ranks);
         if (!played) return;
         check_purposes(runner, *played, answers_of(runner, *played, of_ranks));
       }},
      {"replicas start equal and share one sample order; each has its own noise",
       [](CaseRunner& runner) {
         const std::uint64_t run_seed = drawn_run_seed(runner);
         std::vector<SeedQuestion> questions;
         for (int data = 0; data < 8; ++data) questions.push_back({run_seed, {data, 0, 0}, 0});
         ask(runner, "8 data ranks", questions);
       }},
      {"tensor ranks share the masks of replicated activations and no others",
       [](CaseRunner& runner) {
         const std::uint64_t run_seed = drawn_run_seed(runner);
         std::vector<SeedQuestion> questions;
         for (int tensor = 0; tensor < 8; ++tensor) {
           questions.push_back({run_seed, {0, tensor, 0}, 0});
         }
         ask(runner, "8 tensor ranks", questions);
         questions.clear();
         for (int data = 0; data < 4; ++data) {
           for (int pipeline = 0; pipeline < 4; ++pipeline) {
             for (int tensor = 0; tensor < 4; ++tensor) {
               questions.push_back({run_seed, {data, tensor, pipeline}, 0});
             }
           }
         }
         ask(runner, "a mesh of 4 by 4 by 4", questions);
       }},
      {"64 ranks with 16 workers each share no stream, even across two runs with adjacent seeds",
       [](CaseRunner& runner) {
         const std::uint64_t run_seed = drawn_run_seed(runner);
         std::vector<SeedQuestion> workers;
         for (int worker = 0; worker < 4; ++worker)
           workers.push_back({run_seed, {0, 0, 0}, worker});
         ask(runner, "4 workers of one rank", workers);
         std::vector<SeedQuestion> questions;
         for (const std::uint64_t seed : {run_seed, run_seed + 1}) {
           for (int data = 0; data < 64; ++data) {
             for (int worker = 0; worker < 16; ++worker) {
               questions.push_back({seed, {data, 0, 0}, worker});
             }
           }
         }
         ask(runner, "64 ranks, 16 workers, 2 run seeds", questions);
       }},
      {"small run seeds such as 0, 1 and 42 give distinct streams",
       [](CaseRunner& runner) {
         std::vector<SeedQuestion> questions;
         for (const std::uint64_t seed : {0, 1, 2, 3, 42, 1234}) {
           for (int data = 0; data < 8; ++data) {
             for (int place = 0; place < 4; ++place) {
               questions.push_back({seed, {data, place % 2, place / 2}, place});
             }
           }
         }
         ask(runner, "run seeds 0, 1, 2, 3, 42 and 1234", questions);
       }},
      {"thousands of ranks and hundreds of workers get distinct streams",
       [](CaseRunner& runner) {
         std::vector<SeedQuestion> questions;
         for (int k = 0; k < 600; ++k) {
           const MeshCoordinates where{drawn(runner, 20'000), drawn(runner, 64),
                                       drawn(runner, 128)};
           questions.push_back({drawn_run_seed(runner), where, drawn(runner, 256)});
           for (int step = 1; step < 3; ++step) {
             SeedQuestion next = questions.back();
             next.where.data += step;
             next.loader_worker += step % 2;
             questions.push_back(next);
           }
         }
         ask(runner, "places drawn in a large mesh", questions);
         const std::uint64_t run_seed = drawn_run_seed(runner);
         questions.clear();
         for (int worker = 0; worker < 300; ++worker) {
           for (int data = 0; data < 2; ++data)
             questions.push_back({run_seed, {data, 0, 0}, worker});
         }
         ask(runner, "2 ranks with 300 workers each", questions);
         questions.clear();
         for (int k = 0; k < 300; ++k) {
           const MeshCoordinates where{drawn(runner, 20'000), drawn(runner, 64),
                                       drawn(runner, 128)};
           questions.push_back({run_seed, where, drawn(runner, 256)});
         }
         if (const auto played = play(runner, "300 places in one run", {questions})) {
           check_width(runner, *played, answers_of(runner, *played, {questions}));
         }
         // Numbers by which people multiply one coordinate to make room for the next.
         questions.clear();
         for (const int by : {1,      10,     31,     37,      97,      100,       101,
                              128,    131,    1000,   1009,    4096,    7919,      9973,
                              10'000, 10'007, 65'536, 100'000, 100'003, 1'000'000, 1'000'003}) {
           questions.push_back({run_seed, {by, 0, 0}, 0});
           questions.push_back({run_seed, {0, by, 0}, 0});
           questions.push_back({run_seed, {0, 0, by}, 0});
           questions.push_back({run_seed, {0, 0, 0}, by});
         }
         ask(runner, "one coordinate at a time, up to a million", questions);
         // Numbers that are alike in their last eight, sixteen or more bits.
         questions.clear();
         for (const int apart : {0, 1 << 8, 1 << 10, 1 << 12, 1 << 16, 1 << 20}) {
           questions.push_back({run_seed, {3 + apart, 1, 2}, 5});
           questions.push_back({run_seed, {3, 1, 2 + apart}, 5});
           questions.push_back({run_seed, {3, 1, 2}, 5 + apart});
         }
         for (const int bit : {32, 48, 63}) {
           questions.push_back({run_seed ^ std::uint64_t{1} << bit, {3, 1, 2}, 5});
         }
         ask(runner, "numbers that are powers of two apart", questions);
         ask(runner, "each number of ranks, stages and workers", of_every_size(run_seed));
       }},
      {"negative coordinates and workers are refused",
       [](CaseRunner& runner) {
         std::vector<SeedQuestion> questions{{7, {3, 1, 2}, 1}};
         const auto& nonsense = contract.refusals->nonsense;
         questions.insert(questions.end(), nonsense.begin(), nonsense.end());
         ask(runner, "negative numbers", questions);
       }},
  };
}

}  // namespace lockstep::grader::seed_everything
