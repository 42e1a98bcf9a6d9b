// The exam of ring_attention. A rank is given its tokens of each sample and no others. The judge
// attends with whole samples, in double. It counts the messages, prices the time, and looks at the
// memory of the processes.
#include <algorithm>
#include <cmath>

#include "engine/base/units.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/ranks/training_tolerance.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/15_sequence_parallel/ring_attention/costs.hpp"

namespace lockstep::grader::ring_attention {
namespace {

using Reports = std::vector<RingReport>;  // of one rank, by call
using Contract = RanksContract<Problem, RingCase, Reports, MomentService, AttentionService>;

DType dtype_of_log_sums(const Problem& p) {
  return p.dtype == DType::float64 ? DType::float64 : DType::float32;
}

std::string text_of(const RingShape& shape, DType dtype) {
  return text(listed(shape), " of ", lockstep::name_of(dtype));
}

void check_shape(CaseRunner& runner, const Played& played, const std::string& name, int rank,
                 const std::string& seen, const std::string& wanted) {
  if (seen == wanted) return;
  runner.fail(played, {.cause = "wrong_shape",
                       .message = text(name, " of rank ", rank, " is ", seen, " where ", wanted,
                                       " is right"),
                       .expected = wanted,
                       .seen = seen,
                       .where = text("rank ", rank)});
}

// Large scores are rounded, and so are their log-sums: weights are off by as much.
std::vector<double> tolerance_of(const Problem& p, const Numbers& right) {
  const double least = p.dtype == DType::float64 ? 1e-12 : p.dtype == DType::float32 ? 1e-5 : 3e-2;
  const double score = p.reach * p.reach * static_cast<double>(p.head_size * p.filler);
  const bool large = p.reach > 1 || p.head_size * p.filler > 100;
  const double rounded = large ? 8 * epsilon_of(dtype_of_log_sums(p)) * score : 0;
  return relative_tolerance(std::max(least, rounded), right);
}

void check_call(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                int call, const std::vector<Reports>& of_ranks) {
  const Numbers qkv = attended_qkv(p, salt, call);
  const Attended right = right_of(p, qkv);
  const std::vector<Positions> slices = p.slices();
  const std::string of_call = p.calls > 1 ? text(" of call ", call + 1) : std::string();
  std::vector<Bytes> outputs, log_sums;
  for (int rank = 0; rank < p.ranks(); ++rank) {
    const RingReport& report = of_ranks[at(rank)][at(call)];
    const std::int64_t own = slices[at(rank)].count();
    check_shape(runner, played, text("the output", of_call), rank,
                text_of(report.output_shape, report.output_dtype),
                text_of({p.batch, own, p.width() * p.filler}, p.dtype));
    check_shape(runner, played, text("the tensor of log-sums", of_call), rank,
                text_of(report.log_sums_shape, report.log_sums_dtype),
                text_of({p.batch, p.heads, own}, dtype_of_log_sums(p)));
    outputs.push_back(report.output);
    log_sums.push_back(report.log_sums);
  }
  const auto check = [&](const std::string& name, Numbers Attended::*part, DType dtype,
                         std::int64_t outer, std::int64_t columns, const Cause& otherwise,
                         const std::vector<Bytes>& pieces) {
    ExpectedPieces expected{.name = text(name, of_call),
                            .dtype = dtype,
                            .whole = right.*part,
                            .tolerance = tolerance_of(p, right.*part)};
    expected.otherwise = otherwise;
    check_pieces(runner, played, dealt_by_tokens("the whole", slices, outer, columns, 0, columns),
                 expected, pieces);
  };
  check("the output", &Attended::output, p.dtype, p.batch, p.width(),
        {"other_output",
         "look at each block once: whose it is, the positions of its tokens and of the queries (a "
         "slice may be two ranges), what the mask leaves of it, and its weight in absorb()"},
        outputs);
  check("the tensor of log-sums", &Attended::log_sums, dtype_of_log_sums(p), p.batch * p.heads, 1,
        {"other_log_sums",
         "the output is right, and its log-sums are those of other keys; backward needs them"},
        log_sums);
}

void check_unchanged(CaseRunner& runner, const Played& played,
                     const std::vector<Reports>& of_ranks) {
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    for (const RingReport& report : of_ranks[rank]) {
      if (!report.changed) continue;
      runner.fail(played,
                  because({"changed",
                           "what comes from the left was received into a block that is not the "
                           "part's to write to: make rooms of its own"},
                          {.message = text("the queries or the keys and values of rank ", rank,
                                           " are not those any more that were given"),
                           .expected = "unchanged",
                           .where = text("rank ", rank)}));
    }
  }
}

void check_refused(CaseRunner& runner, const Played& played, const Problem& p,
                   const std::vector<Reports>& of_ranks) {
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const Ending& ending = of_ranks[rank].at(0).ending;
    const bool fits = p.misfit == Misfit::nothing;
    if (!fits && ending.kind == Ending::Kind::threw_expected) continue;
    runner.fail(played, wrong_ending(ending, "ContractError",
                                     text("rank ", rank, " (", p.description(), ")")));
  }
  if (played.counters.messages.empty() && played.counters.collectives.empty()) return;
  runner.fail(played, because({"refused_late",
                               "look at the arguments first: what one rank refuses, its neighbours "
                               "wait for"},
                              {.message = "the arguments do not fit, and the part sends something "
                                          "before it says so",
                               .expected = "ContractError before anything is sent"}));
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<Reports>& of_ranks, const MomentService&,
             const AttentionService& attention) {
  for (const Reports& reports : of_ranks) {
    if (std::ssize(reports) != p.calls) throw MalformedMessage("not a report a call");
  }
  if (p.misfit != Misfit::nothing) return check_refused(runner, played, p, of_ranks);
  if (p.timed) check_computing(runner, played, p, attention);
  for (int call = 0; call < p.calls; ++call) check_call(runner, played, p, salt, call, of_ranks);
  check_unchanged(runner, played, of_ranks);
}

void ask_of(const Problem& p, std::uint64_t salt, int rank, const RingCase&, Situations& asked) {
  if (p.hands_over) return;
  const Numbers qkv = drawn_qkv(p, salt, 0);
  const std::int64_t width = p.width();
  const bool queries = p.odd_in == Problem::Where::queries;
  ask_of_values(dealt_by_tokens("", p.slices(), p.batch, 3 * width, queries ? 0 : 2 * width, width)
                    .piece(rank, qkv),
                asked);
  if (p.dtype == DType::float64) asked.insert(Situation::double_digits);
  if (p.dtype == DType::bfloat16) asked.insert(Situation::every_dtype);
}

std::vector<Problem> smaller(const Problem& p) {
  if (p.misfit != Misfit::nothing || p.hands_over || p.timed) return {};
  const auto fewer_tokens = [](const Problem& one, std::vector<Problem>& offered) {
    const std::int64_t least = (one.cut == Cut::zigzag ? 2 : 1) * std::int64_t{one.ranks()};
    for (const std::int64_t tokens : {least, one.tokens / 2, one.tokens - 1}) {
      if (tokens < one.tokens && tokens >= least) offered.emplace_back(one).tokens = tokens;
    }
  };
  return smaller_by(fewer_ranks, down_to(&Problem::calls, 1), down_to(&Problem::batch, 1),
                    down_to(&Problem::heads, 1), down_to(&Problem::head_size, 1), fewer_tokens)(p);
}

// Slices differ in length; a room as long as the rank's own is told by its elements.
void explain(Failure& found, const Problem& p, const MomentService&, const AttentionService&) {
  const auto wrong = wrong_length(found);
  if (!wrong || !p.members.contain(wrong->dst)) return;
  const std::int64_t row = 2 * p.batch * p.width() * p.filler;
  const auto slices = p.slices();
  const std::int64_t own = slices[at(p.members.group_rank(wrong->dst))].count();
  if (wrong->expected != own * row || wrong->sent % row != 0) return;
  found = also_because(text("the room for what comes is as long as rank ", wrong->dst,
                            "'s own block; the block that comes has ",
                            counted(wrong->sent / row, "token"), ", as many as its owner"),
                       std::move(found));
}

const Contract contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of = ask_of,
    .smaller = smaller,
    .services =
        [](CaseRunner& runner, const Problem& p, std::uint64_t salt) {
          using Measures = MomentService::Measures;
          return std::tuple(
              MomentService(runner, p.members, 1,
                            p.hands_over ? Measures::most : Measures::nothing),
              AttentionService(p.members, p.width(), p.timed ? drawn_qkv(p, salt, 0) : Numbers(),
                               p.timed ? attended_qkv(p, salt, 0) : Numbers()));
        },
    .explain = explain};

const RanksChecks checks(contract, [](Problem& p) {
  p.tokens = std::int64_t{2} * p.ranks();
  if (p.ranks() > 6) p.batch = 1;
});

void any_slices(CaseRunner& runner) {
  for (const auto& [cut, tokens, ranks] : {std::tuple{Cut::equal, 7, 3},
                                           {Cut::equal, 17, 4},
                                           {Cut::equal, 5, 5},
                                           {Cut::turned, 6, 3},
                                           {Cut::turned, 11, 4},
                                           {Cut::zigzag, 8, 2},
                                           {Cut::zigzag, 13, 3},
                                           {Cut::zigzag, 8, 4},
                                           {Cut::zigzag, 29, 5},
                                           {Cut::zigzag, 3, 1}}) {
    checks.ask(runner, ranks, [&](Problem& p) {
      p.cut = cut;
      p.tokens = tokens;
    });
  }
}

void any_size(CaseRunner& runner) {
  for (const auto& [batch, tokens, heads, size] :
       {std::tuple{1, 3, 1, 1}, {1, 70, 1, 8}, {4, 6, 3, 2}, {2, 5, 5, 7}}) {
    checks.ask(runner, 3, [&](Problem& p) {
      p.batch = batch;
      p.tokens = tokens;
      p.heads = heads;
      p.head_size = size;
    });
  }
}

// Scores up to 10,000: 58² times 3.
void large_scores(CaseRunner& runner) {
  for (const DType dtype : {DType::float64, DType::float32}) {
    for (const Cut cut : {Cut::equal, Cut::zigzag}) {
      checks.ask(runner, 3, [&](Problem& p) {
        p.dtype = dtype;
        p.cut = cut;
        p.reach = 58;
        p.tokens = 12;
      });
    }
  }
}

void odd_values(CaseRunner& runner) {
  for (const Odd odd : every_odd) {
    for (const auto where : {Problem::Where::values, Problem::Where::queries}) {
      if (odd == Odd::infinity && where == Problem::Where::queries) continue;
      checks.ask(runner, 3, [&](Problem& p) {
        p.odd = odd;
        p.odd_in = where;
        p.tokens = 9;
      });
    }
  }
}

void messages(CaseRunner& runner) {
  for (const auto& [ranks, tokens] : {std::pair{2, 4}, {3, 7}, {4, 4}, {8, 19}, {1, 5}, {13, 13}}) {
    checks.price({ranks}, check_messages, with(&Problem::tokens, tokens))(runner);
  }
}

// Large blocks have to travel meanwhile, too.
void check_both(CaseRunner& runner, const Played& played, const Problem& p,
                const MomentService& moments, const AttentionService& attention) {
  check_memory(runner, played, p, moments, attention);
  check_time(runner, played, p);
}

// With all blocks, a rank would hold 4.5 MB of keys and values, in which no number comes twice. The
// other cut is asked with few numbers and a third of it, so that only its account of tensors can
// tell.
void memory(CaseRunner& runner) {
  for (const auto& [cut, size, filler] : {std::tuple{Cut::equal, 1536, 1}, {Cut::zigzag, 2, 256}}) {
    Problem p = checks.usual(runner, 6);
    p.cut = cut;
    p.batch = 1;
    p.tokens = 48;
    p.heads = 4;
    p.head_size = size;
    p.filler = filler;
    p.hands_over = true;
    p.timed = filler == 1;
    checks.then(p.timed ? check_both : check_memory).ask(runner, p);
  }
}

// A block is computed with for longer than it travels, and for less; for as long on all ranks, and
// on the last ones alone.
void overlap(CaseRunner& runner) {
  for (const auto& [cut, ranks, tokens] : {std::tuple{Cut::zigzag, 4, 128},
                                           {Cut::zigzag, 3, 60},
                                           {Cut::zigzag, 5, 40},
                                           {Cut::equal, 4, 128},
                                           {Cut::equal, 2, 48},
                                           {Cut::turned, 4, 96}}) {
    Problem p = checks.usual(runner, ranks);
    p.cut = cut;
    p.batch = 1;
    p.tokens = tokens;
    p.head_size = 4;
    p.timed = true;
    checks.ask(runner, p, check_time);
  }
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, each rank has its part of one device's attention",
       checks.every_size()},
      {"slices of any lengths and anywhere in the sample, and zigzag", any_slices},
      {"any number of samples, tokens and heads of any size", any_size},
      {"scores of ±10,000", large_scores},
      {"several calls, in a subgroup, twice; and smaller types",
       in_turn(checks.on({3}, with(&Problem::calls, 3)),
               checks.twice_in_a_subgroup(with(&Problem::calls, 2)), checks.any_type().run)},
      {"NaN and infinity reach the queries that see them, and no others", odd_values},
      {"shapes, heads and positions that do not fit are refused before anything is sent",
       checks.each(3, &Problem::misfit,
                   {Misfit::fewer_positions, Misfit::other_positions, Misfit::narrow_values,
                    Misfit::heads, Misfit::other_batch, Misfit::no_token})},
      of_fault("when a neighbour is lost, a rank throws CommError", checks.lose_peers(4)),
      of_cost("N-1 messages of one block each, to the right neighbour", messages),
      of_cost("a rank holds two blocks of keys and values at a time", memory),
      of_cost("the next block travels while this one is computed with", overlap),
  };
}

}  // namespace lockstep::grader::ring_attention
