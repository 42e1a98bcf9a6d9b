// The exam of flat_shards: a plan has one right form, which the judge finds by walking along the
// parameters, from range to range. A wrong plan is told by the known mistake that gives it, or by
// the first place that differs.
#include <algorithm>
#include <climits>

#include "grader/exam/function/exam.hpp"
#include "grader/parts/11_sharding/flat_shards/case.hpp"

namespace lockstep::grader::flat_shards {

namespace {

using zero::FlatShards;
using zero::ShardPiece;
using Question = ShardQuestion;
using Pieces = std::vector<ShardPiece>;

FlatShards right_plan(const Question& q) {
  FlatShards plan;
  for (const std::int64_t numel : q.numels) {
    plan.starts.push_back(plan.count);
    plan.count += numel;
  }
  plan.shard = plan.count / q.ranks + (plan.count % q.ranks == 0 ? 0 : 1);
  plan.ranks.resize(static_cast<std::size_t>(q.ranks));
  for (std::size_t p = 0; p < q.numels.size(); ++p) {
    for (std::int64_t begin = 0; begin < q.numels[p];) {
      const std::int64_t place = plan.starts[p] + begin, offset = place % plan.shard;
      const std::int64_t end = std::min(q.numels[p], begin + plan.shard - offset);
      plan.ranks[static_cast<std::size_t>(place / plan.shard)].push_back({p, begin, end, offset});
      begin = end;
    }
  }
  return plan;
}

std::string text_of(const Question& q) {
  return text("parameters of ", listed(q.numels), " elements on ", counted(q.ranks, "rank"));
}

// "1[2, 5) at 0": elements 2 to 4 of parameter 1, at the beginning of the range.
std::string text_of(const ShardPiece& piece) {
  return text(piece.parameter, "[", piece.begin, ", ", piece.end, ") at ", piece.offset);
}

// "0[2, 3) at 0, 1[0, 1) at 1"
std::string text_of(const Pieces& pieces) {
  constexpr std::size_t shown = 6;
  std::string list;
  for (std::size_t k = 0; k < std::min(shown, pieces.size()); ++k) {
    list += text(k > 0 ? ", " : "", text_of(pieces[k]));
  }
  if (pieces.size() > shown) list += text(", … (", counted(std::ssize(pieces), "piece"), ")");
  return pieces.empty() ? "no piece" : list;
}

bool valid(const Question& q) {
  return q.ranks >= 1 && std::ranges::all_of(q.numels, [](auto numel) { return numel >= 0; });
}

// A plan that differs: the place, in words, and the cause where no known mistake gives it.
struct Fault {
  std::string message, expected, seen;
  Cause cause;
};

Fault number_fault(std::span<const Question> asked, const std::string& what, std::int64_t seen,
                   std::int64_t right, const Cause& cause,
                   const std::function<std::int64_t(const FlatShards&)>& of) {
  const auto earlier = earlier_answers(asked, [&](const Question& q) { return of(right_plan(q)); });
  return {text(what, " is ", grouped(seen), ", but ", grouped(right), " is right"), grouped(right),
          grouped(seen), known_or_likely(cause, WrongInteger{seen, right, earlier})};
}

// The first fault in the totals and the starts.
std::optional<Fault> fault_of_sizes(std::span<const Question> asked, const FlatShards& seen,
                                    const FlatShards& right) {
  if (seen.count != right.count) {
    return number_fault(
        asked, "the number of elements (count)", seen.count, right.count,
        {"other_count", "count adds the elements of all parameters, without padding"},
        [](const FlatShards& plan) { return plan.count; });
  }
  if (seen.shard != right.shard) {
    return number_fault(asked, "the size of a range (shard)", seen.shard, right.shard,
                        {"other_shard", "all ranges have ⌈C / N⌉ elements, the last ones too"},
                        [](const FlatShards& plan) { return plan.shard; });
  }
  if (seen.starts != right.starts) {
    return Fault{"the parameters do not start where they lie in the flat tensor",
                 listed(right.starts),
                 listed(seen.starts),
                 {"other_starts",
                  "a parameter starts where the one before it ends; one without elements starts "
                  "there, too"}};
  }
  if (seen.ranks.size() == right.ranks.size()) return std::nullopt;
  return Fault{text("the plan has the pieces of ", counted(std::ssize(seen.ranks), "rank"),
                    ", but there are ", right.ranks.size()),
               {},
               {},
               {"other_ranks", "every rank has a list, and a rank that owns nothing an empty one"}};
}

// The first element that no rank owns, or that two own.
std::optional<Fault> fault_of_cover(const Question& q, const FlatShards& seen) {
  struct Held {
    std::int64_t begin = 0, end = 0;
    std::size_t rank = 0;
  };
  std::vector<std::vector<Held>> held(q.numels.size());
  for (std::size_t rank = 0; rank < seen.ranks.size(); ++rank) {
    for (const ShardPiece& piece : seen.ranks[rank]) {
      const bool there = piece.parameter < q.numels.size() && piece.begin >= 0 &&
                         piece.end <= q.numels[piece.parameter] && piece.begin < piece.end;
      if (there) {
        held[piece.parameter].push_back({piece.begin, piece.end, rank});
        continue;
      }
      const bool empty = piece.begin == piece.end;
      const bool known = piece.parameter < q.numels.size();
      const std::string why =
          empty   ? std::string("which is empty")
          : known ? text("but parameter ", piece.parameter, " has ",
                         counted(q.numels[piece.parameter], "element"))
                  : text("but there are ", counted(std::ssize(q.numels), "parameter"));
      return Fault{text("rank ", rank, " has the piece ", text_of(piece), ", ", why),
                   {},
                   text_of(seen.ranks[rank]),
                   empty ? Cause{"empty_piece",
                                 "a rank has no piece of a parameter that only touches its range"}
                         : Cause{"no_such_elements",
                                 "begin and end count within the parameter, from 0, and end is one "
                                 "behind the last element"}};
    }
  }
  for (std::size_t p = 0; p < held.size(); ++p) {
    std::ranges::sort(held[p], {}, &Held::begin);
    std::int64_t next = 0;
    held[p].push_back({q.numels[p], q.numels[p], seen.ranks.size()});
    for (const Held& one : held[p]) {
      if (one.begin == next) {
        next = one.end;
        continue;
      }
      const std::string element = text("element ", std::min(one.begin, next), " of parameter ", p);
      if (one.begin > next) {
        return Fault{text("element ", next, " of parameter ", p, " is in no rank's range"),
                     {},
                     {},
                     {"lost",
                      "the ranges together hold every element; a parameter may lie on more than "
                      "two ranks"}};
      }
      return Fault{
          text(element, " is owned twice, also by rank ", one.rank),
          {},
          {},
          {"twice",
           text("each element has one owner; where one range ends, the next begins",
                std::ranges::max(q.numels) > INT32_MAX ? ", and 32 bits do not hold these places"
                                                       : "")}};
    }
  }
  return std::nullopt;
}

// Every right piece is there but for multiples of 2^32, which some numbers lack.
bool wrapped(const FlatShards& seen, const FlatShards& right) {
  bool some = false;
  for (std::size_t rank = 0; rank < right.ranks.size(); ++rank) {
    for (const ShardPiece& one : right.ranks[rank]) {
      const auto found = std::ranges::find_if(seen.ranks[rank], [&](const ShardPiece& other) {
        return other.parameter == one.parameter && in_32_bits(other.begin - one.begin) == 0 &&
               in_32_bits(other.end - one.end) == 0 && in_32_bits(other.offset - one.offset) == 0;
      });
      if (found == seen.ranks[rank].end()) return false;
      some = some || *found != one;
    }
  }
  return some;
}

// The first rank whose pieces differ, where every element has one owner.
Fault fault_of_pieces(const FlatShards& seen, const FlatShards& right) {
  std::size_t rank = 0;
  while (seen.ranks[rank] == right.ranks[rank]) ++rank;
  Pieces mine = seen.ranks[rank], theirs = right.ranks[rank];
  Fault fault{text("rank ", rank, " does not have the pieces of its range"),
              text_of(theirs),
              text_of(mine),
              {"other_cut",
               "rank r owns the elements from r·S up to (r+1)·S of the "
               "flat tensor, whatever parameters they belong to"}};
  const auto without_offsets = [](Pieces pieces) {
    for (ShardPiece& piece : pieces) piece.offset = 0;
    return pieces;
  };
  if (without_offsets(mine) == without_offsets(theirs)) {
    fault.message = text("rank ", rank, " has the right pieces at wrong offsets");
    fault.cause = {"other_offset",
                   "a piece lies in its owner's range, behind the pieces before it: the first "
                   "element of the range is at 0"};
  }
  std::ranges::sort(mine, {}, &ShardPiece::parameter);
  if (mine == theirs) {
    fault.message = text("rank ", rank, " has its pieces in another order");
    fault.cause = {"other_order", "pieces stand in the order in which they lie in the range"};
  }
  return fault;
}

std::optional<Failure> wrong(std::span<const Question> asked, const FlatShards& seen) {
  const FlatShards right = right_plan(asked.back());
  if (seen == right) return std::nullopt;
  std::optional<Fault> fault = fault_of_sizes(asked, seen, right);
  if (!fault) fault = fault_of_cover(asked.back(), seen);
  if (!fault) fault = fault_of_pieces(seen, right);
  if (seen.ranks.size() == right.ranks.size() && wrapped(seen, right)) {
    fault->cause = {"overflow", "an int ends at 2,147,483,647: places need std::int64_t"};
  }
  return because(fault->cause,
                 {.message = fault->message, .expected = fault->expected, .seen = fault->seen});
}

// With half of the parameters, of the ranks or of the elements, or with one less.
std::vector<Question> smaller(const Question& q) {
  std::vector<Question> offered;
  if (const auto half = std::ssize(q.numels) / 2; half > 1) {
    offered.push_back({{q.numels.begin(), q.numels.begin() + half}, q.ranks});
    offered.push_back({{q.numels.begin() + half, q.numels.end()}, q.ranks});
  }
  if (q.ranks > 2) offered.push_back({q.numels, q.ranks / 2});
  if (q.ranks > 1) offered.push_back({q.numels, q.ranks - 1});
  for (std::size_t p = 0; p < q.numels.size() && q.numels.size() > 1; ++p) {
    auto& fewer = offered.emplace_back(q).numels;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(p));
  }
  for (std::size_t p = 0; p < q.numels.size(); ++p) {
    if (q.numels[p] < 2) continue;
    offered.emplace_back(q).numels[p] /= 2;
    --offered.emplace_back(q).numels[p];
  }
  return offered;
}

FunctionContract<Question, FlatShards> usual_contract() {
  return {
      .text_of = [](const Question& q) { return text_of(q); },
      .wrong = wrong,
      .is_right = [](const Question& q, const FlatShards& seen) { return seen == right_plan(q); },
      .refusals = {{.valid = valid,
                    .accepts = {"accepts_nonsense",
                                "a model has no parameter of less than 0 elements, and its "
                                "elements need a rank"},
                    .nonsense = {{{3, 2}, 0},
                                 {{3, 2}, -1},
                                 {{3, 2}, INT_MIN},
                                 {{-1}, 2},
                                 {{3, -1, 9}, 2},
                                 {{3, 9, -12}, 2},
                                 {{std::numeric_limits<std::int64_t>::min()}, 2}}}},
      .smaller = smaller,
      .sizes = [](const Question& q) -> Sizes {
        return {q.ranks, q.numels};
      }};
}

// Lists of few small parameters.
std::vector<Question> drawn_models(CaseRunner& runner) {
  std::vector<Question> questions;
  for (int k = 0; k < 40; ++k) {
    Question& q = questions.emplace_back();
    q.ranks = 1 + k % 8;
    q.numels.resize(static_cast<std::size_t>(runner.draw_between(1, 6)));
    for (std::int64_t& numel : q.numels) numel = runner.draw_between(1, 12);
  }
  return questions;
}

// One parameter on many ranks, one rank with many parameters, and both in one model.
std::vector<Question> wide_and_narrow(CaseRunner& runner) {
  std::vector<Question> questions{{{7}, 3}, {{1, 10, 1}, 4}, {{1, 1, 1, 1, 1, 1, 1}, 2}};
  for (const int ranks : {2, 3, 5, 8}) {
    Question& q = questions.emplace_back();
    q.ranks = ranks;
    q.numels = {runner.draw_between(40, 60), 1, 2, 1, runner.draw_between(40, 60), 3, 1, 1};
    questions.push_back({{2 * ranks, 2 * ranks, ranks, ranks}, ranks});  // cut between parameters
  }
  return questions;
}

// Ranks without elements, parameters without elements, and neither.
std::vector<Question> nothing_in_it() {
  return {{{1}, 4},       {{1, 1}, 8}, {{2, 3}, 4},    {{0, 3, 0, 2, 0}, 4},
          {{0, 0, 4}, 2}, {{4, 0}, 2}, {{2, 0, 2}, 2}, {{0}, 3},
          {{}, 1},        {{}, 5},     {{0, 0}, 1},    {{5, 0, 0, 0, 1}, 3}};
}

// The parameters of a transformer of this width: embedding, then blocks of matrices and vectors.
Question transformer(std::int64_t width, int blocks, std::int64_t words, int ranks) {
  Question q{{words * width}, ranks};
  for (int block = 0; block < blocks; ++block) {
    for (const std::int64_t matrix : {3, 1, 4, 4}) {
      q.numels.insert(q.numels.end(), {matrix * width * width, matrix * width, width});
    }
  }
  return q;
}

std::vector<Question> every_size() {
  std::vector<Question> questions{{{(1L << 53) + 1}, 1}, {{1L << 62, (1L << 62) - 5}, 3}};
  for (const int ranks : every_rank_count) {
    questions.push_back({every_count(ranks, 0), ranks});
    questions.push_back({{ranks + 1, 7, 300 - ranks % 300}, ranks});
  }
  return questions;
}

}  // namespace

Exam exam() {
  const auto contract = usual_contract();
  return {
      {"five elements on four ranks are 2, 2, 1 and 0, and other plans of the task",
       [contract](CaseRunner& runner) {
         ask(runner, contract, "five elements",
             {{{3, 2}, 4}, {{4, 4}, 2}, {{6, 3}, 2}, {{3, 2}, 1}, {{3, 2}, 2}});
       }},
      {"the ranges of drawn models, end to end, are the flat tensor and its padding",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "drawn models", drawn_models(runner));
       }},
      {"a parameter may lie on many ranks, and a rank may have pieces of many parameters",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "wide and narrow", wide_and_narrow(runner));
       }},
      {"ranks and parameters without elements keep their places",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "nothing in it", nothing_in_it());
       }},
      {"elements up to 2^63, and each number of ranks up to three hundred",
       [contract](CaseRunner& runner) {
         judge(runner, contract, "transformers",
               {transformer(8192, 80, 128'256, 64), transformer(768, 12, 50'257, 8)});
         judge(runner, contract, "every size", every_size());
       }},
      check_of_refusals(contract, "no rank, and parameters of less than 0 elements, are refused",
                        {{{3, 2}, 4}, {{0}, 1}}),
  };
}

}  // namespace lockstep::grader::flat_shards
