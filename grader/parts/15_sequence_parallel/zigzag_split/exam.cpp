// The exam of zigzag_split: whose tokens are whose, and the way back. The judge has the bounds of
// all chunks, which it computes without a product that could overflow.
#include <climits>

#include "engine/base/units.hpp"
#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/15_sequence_parallel/zigzag_split/case.hpp"

namespace lockstep::grader::zigzag_split {
namespace {

using sequence_parallel::TokenPlace;
using Question = ZigzagQuestion;
using Answer = ZigzagAnswer;

// ⌊at · length / of⌋
std::int64_t bound(std::int64_t length, std::int64_t at, std::int64_t of) {
  return length / of * at + length % of * at / of;
}
TokenRange chunk(const Question& q, std::int64_t at) {
  const std::int64_t of = 2 * std::int64_t{q.ranks}, first = bound(q.length, at, of);
  return {first, bound(q.length, at + 1, of) - first};
}
Positions slice_of(const Question& q) {
  return {chunk(q, q.rank), chunk(q, 2 * std::int64_t{q.ranks} - 1 - q.rank)};
}

std::int64_t chunk_of(const Question& q) {
  std::int64_t at = 0;
  while (chunk(q, at).end() <= q.position) ++at;
  return at;
}
TokenPlace place_of(const Question& q) {
  const std::int64_t at = chunk_of(q), mirrored = 2 * std::int64_t{q.ranks} - 1 - at;
  const std::int64_t index = q.position - chunk(q, at).first;
  if (at < q.ranks) return {static_cast<int>(at), index};
  return {static_cast<int>(mirrored), chunk(q, mirrored).count + index};
}

bool valid(const Question& q) {
  if (q.ranks < 1 || q.length < 2 * std::int64_t{q.ranks}) return false;
  if (q.asked == ZigzagAsked::slice) return q.rank >= 0 && q.rank < q.ranks;
  return q.position >= 0 && q.position < q.length;
}

std::string text_of(const Question& q) {
  const std::string on = text(counted(q.length, "token"), " on ", counted(q.ranks, "rank"));
  return q.asked == ZigzagAsked::slice ? text("the slice of rank ", q.rank, " of ", on)
                                       : text("the place of position ", q.position, " of ", on);
}
std::string text_of(const TokenRange& range) {
  return text("[", range.first, ", ", range.end(), ")");
}
std::string text_of(const Positions& slice) {
  return text(text_of(slice.early), " and ", text_of(slice.late));
}
std::string text_of(const TokenPlace& place) {
  return text("rank ", place.rank, ", index ", place.index);
}

template <typename Result>
std::optional<Failure> told(const Result& seen, const Result& right, const Cause& cause) {
  if (seen == right) return std::nullopt;
  return because(cause,
                 {.message = text("it is ", text_of(seen), " where ", text_of(right), " is right"),
                  .expected = text_of(right),
                  .seen = text_of(seen)});
}

std::optional<Failure> wrong(std::span<const Question> asked, const Answer& seen) {
  const Question& q = asked.back();
  if (q.asked == ZigzagAsked::slice) {
    return told(seen.slice, slice_of(q),
                {"other_slice",
                 "rank r has chunks r and 2N-1-r of 2N, and chunk c begins at "
                 "⌊c·S / 2N⌋, in integers"});
  }
  return told(seen.place, place_of(q),
              {"other_place",
               "a chunk c below N is rank c's, and any other one rank 2N-1-c's; on a "
               "rank, the late chunk lies behind the early one, which has a length of its own"});
}

std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  const auto offer = [&](Question one) {
    if (valid(one)) offered.push_back(one);
  };
  for (int ranks = 1; ranks < std::min(q.ranks, 8); ++ranks) {
    Question one = q;
    one.ranks = ranks;
    one.rank = std::min(q.rank, ranks - 1);
    offer(one);
  }
  for (const std::int64_t by : {q.length / 2, q.length / 4, std::int64_t{1}}) {
    Question one = q;
    one.length -= by;
    one.position = std::min(q.position, one.length - 1);
    if (by > 0) offer(one);
  }
  return offered;
}

FunctionContract<Question, Answer> contract() {
  return {.text_of = [](const Question& q) { return text_of(q); },
          .wrong = wrong,
          .refusals = {{.valid = valid,
                        .accepts = {"accepts_nonsense",
                                    "no chunk is empty, so there are 2N tokens at least; ranks and "
                                    "positions count from 0, and are below N and S"}}},
          .smaller = smaller,
          .sizes = [](const Question& q) -> Sizes {
            return {q.ranks, {q.length}};
          },
          .least_count = 2};
}

Question slice(std::int64_t length, int ranks, int rank) {
  return {ZigzagAsked::slice, length, ranks, rank, 0};
}
Question place(std::int64_t length, int ranks, std::int64_t position) {
  return {ZigzagAsked::place, length, ranks, 0, position};
}

std::vector<Question> of_the_task(CaseRunner&) {
  std::vector<Question> all;
  for (int rank = 0; rank < 4; ++rank) all.push_back(slice(16, 4, rank));
  return all;
}

// The lengths of 2N chunks of one size.
std::vector<Question> equal_chunks(CaseRunner& runner) {
  std::vector<Question> all;
  for (const int ranks : {1, 2, 3, 5, 8}) {
    const std::int64_t length = 2 * ranks * runner.draw_between(1, 9);
    for (int rank = 0; rank < ranks; ++rank) all.push_back(slice(length, ranks, rank));
  }
  return all;
}

std::vector<Question> unequal_chunks(CaseRunner& runner) {
  std::vector<Question> all;
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (const std::int64_t more :
         {std::int64_t{1}, ranks + std::int64_t{1}, 2 * ranks - std::int64_t{1}}) {
      const std::int64_t length = 2 * ranks * runner.draw_between(1, 9) + more;
      for (int rank = 0; rank < ranks; ++rank) all.push_back(slice(length, ranks, rank));
    }
  }
  return all;
}

std::vector<Question> every_place(CaseRunner& runner) {
  std::vector<Question> all;
  for (const auto& [length, ranks] :
       {std::pair{16, 4}, {2, 1}, {7, 2}, {11, 3}, {23, 5}, {35, 4}, {17, 8}}) {
    for (std::int64_t at = 0; at < length; ++at) all.push_back(place(length, ranks, at));
  }
  for (int k = 0; k < 20; ++k) {
    const auto ranks = static_cast<int>(runner.draw_between(1, 40));
    const std::int64_t length = 2 * ranks + runner.draw_between(0, 5000);
    all.push_back(place(length, ranks, runner.draw_between(0, length - 1)));
  }
  return all;
}

std::vector<Question> large(CaseRunner& runner) {
  std::vector<Question> all;
  // 14 · (61 / 14) falls below 61 in double, and 2^53 + 5 is no number there.
  for (const std::int64_t length : {std::int64_t{61}, (std::int64_t{1} << 53) + 5}) {
    for (int rank = 0; rank < 7; ++rank) all.push_back(slice(length, 7, rank));
    all.push_back(place(length, 7, length - 1));
  }
  for (const int ranks : every_rank_count) {
    for (const std::int64_t length :
         {2 * std::int64_t{ranks}, 6 * std::int64_t{ranks} + 1, (std::int64_t{1} << 17) + 3,
          (std::int64_t{1} << 33) + ranks + 1}) {
      all.push_back(slice(length, ranks, static_cast<int>(runner.draw_between(0, ranks - 1))));
      all.push_back(place(length, ranks, runner.draw_between(0, length - 1)));
    }
  }
  return all;
}

Check refusals() {
  auto refusing = contract();
  refusing.refusals->nonsense = {slice(7, 4, 0),        slice(1, 1, 0),    slice(0, 1, 0),
                                 slice(-8, 2, 0),       slice(16, 4, 4),   slice(16, 4, -1),
                                 slice(16, 0, 0),       slice(16, -4, -5), slice(100, INT_MAX, 0),
                                 slice(16, 4, INT_MIN), place(7, 4, 0),    place(5, 3, 4),
                                 place(16, 4, 16),      place(16, 4, -1),  place(16, 4, INT64_MIN)};
  return check_of_refusals(refusing,
                           "fewer than 2N tokens, and ranks and positions outside, are refused",
                           {slice(8, 4, 3), place(8, 4, 7), slice(2, 1, 0)});
}

Check check(const std::string& name, std::vector<Question> (*questions)(CaseRunner&)) {
  return {name, [questions](CaseRunner& runner) {
            judge(runner, contract(), "slices and places", questions(runner));
          }};
}

}  // namespace

Exam exam() {
  return {
      check("16 tokens on four ranks: chunks 0 and 7, 1 and 6, 2 and 5, 3 and 4", of_the_task),
      check("chunks of one size, on 1 to 8 ranks", equal_chunks),
      check("chunks that differ by a token: all begin at ⌊c·S / 2N⌋, and none is lost",
            unequal_chunks),
      check("zigzag_place is the inverse, for every position", every_place),
      check("up to 300 ranks, and more tokens than 32 bits count", large),
      refusals(),
  };
}

}  // namespace lockstep::grader::zigzag_split
