// The exam of distributed_sampler: a decision, so its answers are compared index for index.
#include "grader/parts/04_feeding_the_ranks/distributed_sampler/case.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <limits>
#include <numeric>
#include <span>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::distributed_sampler {
namespace {

using data::Order;
using data::SamplerOptions;
using data::Tail;
using Indices = std::vector<std::int64_t>;

std::string text_of(const SamplerOptions& q) {
  return text(counted(q.length, "sample"), ", rank ", q.rank, " of ", q.ranks, ", seed ", q.seed,
              ", epoch ", q.epoch, q.order == Order::shuffled ? ", shuffled" : ", in order",
              q.tail == Tail::pad ? ", padded" : ", tail dropped");
}

// The question of this run that `seen` is the right answer to, if any: an order was kept from it.
const SamplerOptions* earlier_question(std::span<const SamplerOptions> before,
                                       const Indices& seen) {
  for (auto q = before.rbegin(); q != before.rend(); ++q) {
    if (seen.size() > 1 && data::distributed_indices(*q) == seen) return &*q;
  }
  return nullptr;
}

// Questions of one run: chosen freely, or each differs from the one before in one thing alone.
enum class Series : unsigned char { free, one_thing_changed };

// The order in which another question of this run was to be dealt out, dealt out as this one asks.
const SamplerOptions* earlier_order(std::span<const SamplerOptions> before, const SamplerOptions& q,
                                    const Indices& seen) {
  for (auto other = before.rbegin(); other != before.rend(); ++other) {
    SamplerOptions mixed = *other;
    if (other->length != q.length || seen.size() < 2) continue;
    mixed.rank = q.rank, mixed.ranks = q.ranks, mixed.tail = q.tail;
    if (data::distributed_indices(mixed) == seen) return &*other;
  }
  return nullptr;
}

std::string cause_of_other_indices(const SamplerOptions& q, const Indices& seen,
                                   const Indices& expected) {
  if (seen.size() != expected.size()) {
    return text("it has ", seen.size(), seen.size() == 1 ? " index" : " indices",
                "; every rank should have ", expected.size());
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) wrong += seen[i] != expected[i] ? 1 : 0;
  if (2 * wrong < seen.size()) {
    const auto at = std::ranges::mismatch(seen, expected).in1 - seen.begin();
    return text("all but ", wrong, " of the ", seen.size(),
                " indices are right; the first that is ", "not is index ", at, ", ",
                seen[static_cast<std::size_t>(at)], " where ",
                expected[static_cast<std::size_t>(at)], " belongs");
  }
  if (q.order == Order::sequential) {
    return "the order that is dealt out to the ranks is not 0, 1, 2, …";
  }
  const bool of_this_rank = std::ranges::is_permutation(seen, expected);
  return of_this_rank && q.ranks > 1 ? "these are this rank's samples, but not in the epoch's order"
                                     : "the order that is dealt out to the ranks is not "
                                       "random_permutation(length, seed + epoch)";
}

Cause likely_cause(std::span<const SamplerOptions> asked, const Indices& seen,
                   const Indices& expected, Series series) {
  const SamplerOptions& q = asked.back();
  const auto outside = std::find_if(seen.begin(), seen.end(),
                                    [&](std::int64_t i) { return i < 0 || i >= q.length; });
  if (outside != seen.end()) {
    return {"no_such_sample",
            text("sample ", *outside, " is outside the dataset of ", q.length,
                 " samples: the order was read past its end, or padded with other numbers")};
  }
  const auto before = asked.first(asked.size() - 1);
  const SamplerOptions* stale = earlier_question(before, seen);
  if (stale == nullptr) stale = earlier_order(before, q, seen);
  // If one thing changed after another, all else was found right before.
  if (stale != nullptr && series == Series::one_thing_changed) {
    return {"stale",
            text("this is the order of an earlier question in this run (", text_of(*stale),
                 "); the key of a cached order must hold the length, the seed, the epoch and the "
                 "`order` option")};
  }
  return {"other_indices", cause_of_other_indices(q, seen, expected)};
}

// An index of at() that is the place of a sample when the length was taken off once.
std::optional<Cause> cause_of_error(const SamplerOptions& q, const Ending& ending) {
  const std::size_t begin = ending.what.find("(which is ");
  long long index = 0, size = 0;
  if (begin == std::string::npos ||
      std::sscanf(ending.what.c_str() + begin, "(which is %lld) >= this->size() (which is %lld)",
                  &index, &size) != 2) {
    return std::nullopt;
  }
  const std::int64_t place = index + q.length - q.rank;
  const std::int64_t each = (q.length + q.ranks - 1) / q.ranks;
  const bool once = place >= 0 && place % q.ranks == 0 && place / q.ranks < each;
  if (q.tail != Tail::pad || size != q.length || q.length == 0 || !once) return std::nullopt;
  return Cause{
      "padded_once",
      text("rank ", q.rank, "'s place in the padded order is ", index + q.length, ", and ",
           index + q.length, " - ", q.length, " is still no place of an order of ", q.length,
           ": with more than twice as many ranks as samples its head is needed "
           "several times, so take the place modulo the length")};
}

bool valid(const SamplerOptions& q) { return q.rank >= 0 && q.rank < q.ranks; }

FunctionContract<SamplerOptions, Indices> contract_of(Series series) {
  const auto refused = [](int rank, int ranks) {
    return SamplerOptions{10, rank, ranks, 0, 0, Order::sequential, Tail::pad};
  };
  return {.text_of = text_of,
          .wrong = [series](std::span<const SamplerOptions> asked,
                            const Indices& seen) -> std::optional<Failure> {
            const SamplerOptions& q = asked.back();
            const Indices expected = data::distributed_indices(q);
            if (seen == expected) return std::nullopt;
            return because(
                likely_cause(asked, seen, expected, series),
                {.message = text("rank ", q.rank, " of ", q.ranks, " reads ", listed(seen),
                                 " where ", listed(expected), " was expected"),
                 .expected = listed(expected),
                 .seen = listed(seen)});
          },
          .refusals = {{.valid = valid,
                        .accepts = {"bad_rank_accepted", "there is no such rank"},
                        .refuses = {"refused_a_valid_rank", "there is such a rank"},
                        .nonsense = {refused(4, 4), refused(-1, 4), refused(INT_MAX, 4)}}},
          .cause_of_error = cause_of_error,
          .sizes = [](const SamplerOptions& q) -> Sizes {
            return {q.ranks, {q.length}};
          }};
}

using Questions = std::vector<SamplerOptions>;

// Fewer questions; of a single one fewer samples, fewer ranks, and what is plain.
std::vector<Questions> smaller(const Questions& questions) {
  std::vector<Questions> offered;
  if (questions.size() > 1) {
    const auto middle = questions.begin() + std::ssize(questions) / 2;
    offered.emplace_back(questions.begin(), middle);
    offered.emplace_back(middle, questions.end());
    return offered;
  }
  const auto offer = [&](auto change) { change(offered.emplace_back(questions).front()); };
  const SamplerOptions& q = questions.front();
  for (int ranks = std::max(1, q.rank + 1); ranks < q.ranks; ++ranks) {
    offer([&](SamplerOptions& one) { one.ranks = ranks; });
  }
  if (q.length > 1) offer([](SamplerOptions& one) { one.length /= 2; });
  if (q.length > 1) offer([](SamplerOptions& one) { --one.length; });
  if (q.rank > 0) offer([](SamplerOptions& one) { one.rank = 0; });
  if (q.epoch > 0) offer([](SamplerOptions& one) { one.epoch = 0; });
  if (q.seed > 0) offer([](SamplerOptions& one) { one.seed = 0; });
  return offered;
}

void ask(CaseRunner& runner, const std::string& description, const Questions& questions,
         Series series = Series::free) {
  runner.examine<Questions>(
      questions,
      [&](const Questions& some) {
        const bool all = some.size() == questions.size();
        grader::ask(runner, contract_of(series),
                    all ? description : counted(std::ssize(some), "question"), some);
      },
      smaller);
}

// One question after another, each of which differs from the one before in one thing alone.
Questions one_thing_at_a_time(CaseRunner& runner) {
  SamplerOptions q{23, 1, 4, runner.draw() % 1'000'000, 3, Order::shuffled, Tail::pad};
  Questions questions{q};
  const auto ask = [&](auto change) {
    change(q);
    questions.push_back(q);
  };
  for (int round = 0; round < 2; ++round) {
    ask([&](SamplerOptions& one) { one.seed += 1000; });
    ask([&](SamplerOptions& one) { one.epoch += 1; });
    ask([&](SamplerOptions& one) { one.rank = 2; });
    ask([&](SamplerOptions& one) { one.tail = Tail::drop; });
    ask([&](SamplerOptions& one) { one.length = 29; });
    ask([&](SamplerOptions& one) { one.ranks = 3; });
    ask([&](SamplerOptions& one) { one.order = Order::sequential; });
    ask([&](SamplerOptions& one) { one.length = 23; });
    ask([&](SamplerOptions& one) { one.order = Order::shuffled; });
    // The same sum of seed and epoch: the same order.
    ask([&](SamplerOptions& one) { one.seed -= 2, one.epoch += 2; });
  }
  return questions;
}

// Every rank of every group size, for lengths that divide and lengths that do not.
std::vector<SamplerOptions> all_ranks(CaseRunner& runner, Order order, Tail tail,
                                      const std::vector<std::int64_t>& lengths) {
  std::vector<SamplerOptions> questions;
  for (int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    for (std::int64_t length : lengths) {
      const std::uint64_t seed = runner.draw() % 1'000'000'000;
      const int epoch = static_cast<int>(runner.draw() % 1000);
      for (int rank = 0; rank < ranks; ++rank) {
        questions.push_back({length, rank, ranks, seed, epoch, order, tail});
      }
    }
  }
  return questions;
}

// The first and the last rank of every group; the largest seed and epoch.
Questions of_every_size(CaseRunner& runner) {
  constexpr std::int64_t most = 1 << 17;  // a share has to fit into a message
  Questions questions{
      {10, 1, 4, ~std::uint64_t{0}, std::numeric_limits<int>::max(), Order::shuffled, Tail::pad}};
  for (const int ranks : every_rank_count) {
    for (const std::int64_t length : every_count(ranks, 0, most)) {
      const Order order = runner.draw() % 4 == 0 ? Order::sequential : Order::shuffled;
      const Tail tail = runner.draw() % 2 == 0 ? Tail::pad : Tail::drop;
      const int epoch = static_cast<int>(runner.draw() % 1000);
      for (const int rank : {0, ranks - 1}) {
        questions.push_back({length, rank, ranks, runner.draw() % 1000, epoch, order, tail});
      }
    }
  }
  return questions;
}

}  // namespace

Exam exam() {
  const std::vector<std::int64_t> lengths{8, 10, 11, 97, 120};
  return {
      {"ten samples on four ranks, in order: [0, 4, 8] [1, 5, 9] [2, 6, 0] [3, 7, 1]",
       [](CaseRunner& runner) {
         std::vector<SamplerOptions> questions;
         for (int rank = 0; rank < 4; ++rank) {
           questions.push_back({10, rank, 4, 0, 0, Order::sequential, Tail::pad});
         }
         ask(runner, "ten samples, four ranks", questions);
       }},
      {"in order and padded with the head, the shares are equal for any length",
       [=](CaseRunner& runner) {
         ask(runner, "in order, padded", all_ranks(runner, Order::sequential, Tail::pad, lengths));
       }},
      {"seed + epoch gives one permutation for all ranks",
       [=](CaseRunner& runner) {
         ask(runner, "shuffled, padded", all_ranks(runner, Order::shuffled, Tail::pad, lengths));
       }},
      {"with drop, the tail is cut before the ranks take turns",
       [=](CaseRunner& runner) {
         ask(runner, "in order, tail dropped",
             all_ranks(runner, Order::sequential, Tail::drop, lengths));
         ask(runner, "shuffled, tail dropped",
             all_ranks(runner, Order::shuffled, Tail::drop, lengths));
       }},
      {"fewer samples than ranks, one sample and none are shared right",
       [](CaseRunner& runner) {
         for (Tail tail : {Tail::pad, Tail::drop}) {
           ask(runner, "small datasets", all_ranks(runner, Order::sequential, tail, {0, 1, 2, 3}));
           ask(runner, "small datasets, shuffled",
               all_ranks(runner, Order::shuffled, tail, {1, 3}));
         }
       }},
      {"1 to 300 ranks share up to 65,837 samples",
       [](CaseRunner& runner) { ask(runner, "every size", of_every_size(runner)); }},
      {"questions that differ in one thing each get their own answer",
       [](CaseRunner& runner) {
         ask(runner, "one thing at a time", one_thing_at_a_time(runner), Series::one_thing_changed);
       }},
      // Three indices can be guessed, 25 cannot.
      check_of_refusals(contract_of(Series::free), "a rank outside the group is refused",
                        {{97, 2, 4, 0, 0, Order::sequential, Tail::pad}}),
  };
}

}  // namespace lockstep::grader::distributed_sampler
