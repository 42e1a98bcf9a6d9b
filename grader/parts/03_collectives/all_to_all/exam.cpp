// The exam of all_to_all: every block reaches its owner and is sent once, and no rank waits for
// another.
#include <tuple>

#include "engine/base/random.hpp"
#include "grader/exam/collective_rules.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::all_to_all {
namespace {

using Counts = std::vector<std::vector<std::int64_t>>;  // [from][to]

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  std::int64_t all = 0;
  for (const std::int64_t count : counts) all += count;
  return all;
}

Scene sizes_of(const CollectiveProblem& p) {
  Scene scene;
  for (std::size_t rank = 0; rank < p.ranks(); ++rank) {
    std::int64_t received = 0;
    for (const auto& row : p.sends) received += row[rank];
    scene.ranks.push_back({{.name = "in", .count = sum(p.sends[rank]), .before = {}, .after = {}},
                           {.name = "out", .count = received, .before = {}, .after = {}}});
  }
  return scene;
}

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  if (p.elements == Elements::none) return sizes_of(p);
  Scene scene;
  std::vector<std::vector<double>> in, out(p.ranks());
  for (std::size_t from = 0; from < p.ranks(); ++from) {
    in.push_back(distinct(p, salt, call, static_cast<int>(from), sum(p.sends[from])));
    auto at = in.back().begin();
    for (std::size_t to = 0; to < p.ranks(); ++to) {
      out[to].insert(out[to].end(), at, at + p.sends[from][to]);
      at += p.sends[from][to];
    }
  }
  for (std::size_t rank = 0; rank < p.ranks(); ++rank) {
    scene.ranks.push_back({{.name = "in",
                            .count = static_cast<std::int64_t>(in[rank].size()),
                            .before = in[rank],
                            .after = in[rank]},
                           {.name = "out",
                            .count = static_cast<std::int64_t>(out[rank].size()),
                            .before = {},
                            .after = out[rank]}});
  }
  return scene;
}

Counts equal_counts(int n, std::int64_t count) {
  return Counts(static_cast<std::size_t>(n),
                std::vector<std::int64_t>(static_cast<std::size_t>(n), count));
}

// From none to very many.
Counts drawn_counts(CaseRunner& runner, int n) {
  Counts counts = equal_counts(n, 0);
  const std::uint64_t salt = runner.draw();
  std::uint64_t i = 0;
  for (auto& row : counts) {
    for (std::int64_t& count : row) {
      const std::uint64_t bits = random_bits(salt, i++);
      const std::int64_t kinds[] = {0, 1, static_cast<std::int64_t>(bits >> 40) % 10, 97};
      count = kinds[bits % 4];
    }
  }
  return counts;
}

std::optional<Played> play(CaseRunner& runner, CollectiveProblem p, const std::string& what) {
  p.schedule_seed = runner.draw();
  return play_collective(runner, p, text("blocks of ", what, " of ", name_of(p.dtype), beyond(p)),
                         scene);
}

enum class Lengths : unsigned char { equal, different };

void check_cost(CaseRunner& runner, int n, const Counts& counts, Lengths lengths,
                Elements elements = Elements::given) {
  const CollectiveProblem p{
      .members = whole_world(n), .calls = 1, .sends = counts, .elements = elements};
  const auto played =
      play(runner, p,
           text(lengths == Lengths::equal
                    ? text(grouped(counts[0][0]), counts[0][0] == 1 ? " element" : " elements")
                    : "different lengths",
                elements == Elements::none ? " on a device that holds sizes only," : ""));
  if (!played) return;
  Price price;
  price.shape = "an all-to-all in which each block goes straight to its owner";
  for (std::size_t rank = 0; rank < p.ranks(); ++rank) {
    std::int64_t sent = 0, received = 0;
    for (std::size_t other = 0; other < p.ranks(); ++other) {
      if (other == rank) continue;
      sent += counts[rank][other];
      received += counts[other][rank];
    }
    price.sent.push_back({sent, sent});
    price.received.push_back({received, received});
  }
  price.why_bytes = "blocks are sent to ranks other than their owner, or more than once";
  if (lengths == Lengths::equal) {
    price.seconds = 1.1 * (n - 1) * message_seconds(p, counts[0][0]);
    price.why_time = "all ranks begin with the same partner, which serves one of them at a time";
  }
  check_price(runner, *played, p, price);
}

}  // namespace

Exam exam() {
  return {
      {"block j of rank i becomes block i of rank j, for equal lengths",
       [](CaseRunner& runner) {
         for (const int n : {2, 3, 4, 1, 5, 6, 7, 8}) {
           for (const std::int64_t count : {3, 1, 0}) {
             play(runner, {.members = whole_world(n), .sends = equal_counts(n, count)},
                  text(count, count == 1 ? " element" : " elements"));
           }
         }
         for (const int n : {12, 13}) {
           play(runner, {.members = whole_world(n), .calls = 1, .sends = equal_counts(n, 2)},
                "2 elements");
         }
       }},
      {"the same holds for blocks of different lengths, some of them empty",
       [](CaseRunner& runner) {
         for (const int n : {2, 3, 4, 1, 5, 6, 7, 8}) {
           for (int i = 0; i < 3; ++i) {
             play(runner, {.members = whole_world(n), .sends = drawn_counts(runner, n)},
                  "different lengths");
           }
         }
         play(
             runner,
             {.members = whole_world(5), .dtype = DType::float32, .sends = drawn_counts(runner, 5)},
             "different lengths");
         play(runner, {.members = whole_world(17), .calls = 1, .sends = drawn_counts(runner, 17)},
              "different lengths");
       }},
      {"integers are exact to the last digit: int64 beyond 2^53, int32 beyond 2^24, uint8",
       [](CaseRunner& runner) {
         for (const DType dtype : {DType::int64, DType::int32, DType::uint8}) {
           play(runner,
                {.members = whole_world(5),
                 .dtype = dtype,
                 .calls = 1,
                 .sends = drawn_counts(runner, 5),
                 .offset = large_offset(dtype)},
                "different lengths");
         }
       },
       std::vector<std::size_t>{0}},
      {"the same holds in a group whose ranks differ from the global ranks",
       [](CaseRunner& runner) {
         play(runner, {.members = split_members(), .sends = drawn_counts(runner, 5)},
              "different lengths");
       }},
      {"each block is sent once, and with equal lengths no rank waits for another",
       [](CaseRunner& runner) {
         for (const int n : {2, 3, 4, 5, 6, 7, 8, 13}) {
           check_cost(runner, n, drawn_counts(runner, n), Lengths::different);
           check_cost(runner, n, equal_counts(n, 1000), Lengths::equal);
         }
         check_cost(runner, 8, equal_counts(8, 1), Lengths::equal);
         // Together more than 32 bits can count.
         check_cost(runner, 8, equal_counts(8, 400'000'009), Lengths::equal, Elements::none);
       },
       {},
       Asks::cost},
      {"when a peer is lost, a rank throws CommError and never returns a partial result",
       [](CaseRunner& runner) {
         for (const auto& [n, rank, request] :
              {std::tuple{2, 1, 1}, {4, 0, 1}, {4, 3, 2}, {5, 2, 4}, {3, 2, 5}}) {
           play(runner,
                {.members = whole_world(n),
                 .calls = 1,
                 .sends = equal_counts(n, 3),
                 .death = Death{rank, request}},
                "3 elements");
         }
       },
       std::vector<std::size_t>{0}, Asks::cost},
  };
}

}  // namespace lockstep::grader::all_to_all
