#include "grader/parts/12_tensor_parallel/vocab_parallel_cross_entropy/rules.hpp"

#include "engine/base/units.hpp"
#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/ranks/wire_price.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::vocab_parallel_cross_entropy {
namespace {

void check_loss(CaseRunner& runner, const Played& played, const Problem& p, const Call& call,
                double right, int rank, const VocabReport& report, const VocabReport& first) {
  const std::string where = text("rank ", rank, ", loss");
  if (report.dtype != p.loss_dtype() || report.loss.size() != bytes_of(p.loss_dtype())) {
    const std::string wanted = text("1 element of ", name_of(p.loss_dtype())),
                      seen = text(report.loss.size() / bytes_of(report.dtype), " elements of ",
                                  name_of(report.dtype));
    runner.fail(played,
                {.cause = "no_loss",
                 .message = text("rank ", rank, " returned ", seen, "; the loss is ", wanted),
                 .expected = wanted,
                 .seen = seen,
                 .where = where});
  }
  const double seen = as_doubles(report.dtype, report.loss).front();
  const double tolerance = tolerance_of(p, call, right);
  if (first_difference({&seen, 1}, {&right, 1}, {&tolerance, 1})) {
    auto cause = cause_by_finiteness({&seen, 1}, {&right, 1}, 0);
    if (!cause) cause = cause_of_loss(right, seen);
    runner.fail(
        played,
        because(*cause,
                {.message = text("rank ", rank, " returned the loss ", number(seen, report.dtype),
                                 ", but that of the whole rows is ", number(right, report.dtype)),
                 .expected = number(right, report.dtype),
                 .seen = number(seen, report.dtype),
                 .where = where}));
  }
  const double other = as_doubles(first.dtype, first.loss).front();
  if (!first_other_bits({&seen, 1}, {&other, 1})) return;
  const std::string both = text(number(other), " on rank 0, ", number(seen), " on rank ", rank);
  runner.fail(played, because({"bits_differ", "a rank adds something up in its own order"},
                              {.message = text("the losses of ranks 0 and ", rank,
                                               " differ in their last bits: ", both),
                               .expected = "the same bits on every rank",
                               .seen = both,
                               .where = where}));
}

void check_gradient(CaseRunner& runner, const Played& played, const Problem& p, const Loss& right,
                    std::size_t number, const std::vector<Reports>& of_ranks) {
  std::vector<Bytes> pieces;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const VocabReport& report = of_ranks[rank][number];
    if (!report.defined) {
      runner.fail(played,
                  {.cause = "no_gradient",
                   .message = text("the loss is right, but no gradient of the logits comes out of "
                                   "the walk back on rank ",
                                   rank, "; record the logits among the operation's inputs"),
                   .where = text("rank ", rank)});
    }
    pieces.push_back(report.gradient);
  }
  check_pieces(
      runner, played, deal_of(p, number),
      {.name = "the gradient of the logits",
       .dtype = p.dtype,
       .whole = right.gradient,
       .tolerance = tolerance_of(p, right.gradient),
       .otherwise = {"other_gradient",
                     "it is e^(logit - maximum) / sum, less 1 in the label's column, times "
                     "the gradient of the loss, and divided by the rows of a mean"},
       .padding = {"padding",
                   "this column is padding. It is in no loss, so its gradient "
                   "is 0"}},
      pieces);
}

void check_unchanged(CaseRunner& runner, const Played& played, std::size_t number,
                     const std::vector<Reports>& of_ranks) {
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (!of_ranks[rank][number].changed) continue;
    runner.fail(played, because({"changed",
                                 "something is written where it was read; other operations may "
                                 "read the logits, too, so write into a tensor of your own"},
                                {.message = text("the logits on rank ", rank,
                                                 " are not those any more that were given"),
                                 .expected = "unchanged",
                                 .where = text("rank ", rank)}));
  }
}

// Every rank says so, and before anything is sent.
void check_refused(CaseRunner& runner, const Played& played, const Problem& p,
                   const std::vector<Reports>& of_ranks) {
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const Ending& ending = of_ranks[rank].at(0).ending;
    if (ending.kind == Ending::Kind::threw_expected) continue;
    runner.fail(played, wrong_ending(ending, "ContractError",
                                     text("rank ", rank, " (", p.description(), ")")));
  }
  const double sent = busiest_rank_bytes(played.counters);
  if (sent == 0) return;
  runner.fail(played, {.cause = "sent_before_refusing",
                       .message = text("a rank sent ", whole_bytes(sent),
                                       " bytes before it threw ContractError; check the arguments "
                                       "before the first collective"),
                       .expected = "0 bytes",
                       .seen = text(whole_bytes(sent), " bytes")});
}

}  // namespace

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<Reports>& of_ranks, const MomentService& /*moments*/) {
  for (const Reports& reports : of_ranks) {
    if (reports.size() != p.shapes.size()) throw MalformedMessage("not a report a call");
  }
  if (p.refused != Refused::nothing) return check_refused(runner, played, p, of_ranks);
  for (std::size_t number = 0; number < p.shapes.size(); ++number) {
    const Call call = drawn_call(p, salt, number);
    const Loss right = right_loss(p, call);
    for (int rank = 0; rank < p.ranks(); ++rank) {
      check_loss(runner, played, p, call, right.loss, rank, of_ranks[at(rank)][number],
                 of_ranks[0][number]);
    }
    check_unchanged(runner, played, number, of_ranks);
    if (p.walk != VocabWalk::back) continue;
    check_gradient(runner, played, p, right, number, of_ranks);
  }
}

// Two numbers of each row, and the loss. The adapter has the logits and the case, which comes once
// as it is and once taken apart.
void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const MomentService& moments) {
  const auto width = static_cast<std::int64_t>(bytes_of(p.dtype));
  const std::int64_t rows = p.rows(0) * width, logits = rows * p.columns();
  for (int rank = 0; rank < p.ranks(); ++rank) {
    check_member_memory(
        runner, played, rank, moments.of(rank),
        {.tensor_bytes = 4 * rows + 4096,
         .adapter_bytes = 3 * logits,
         .of_what = "backward, which makes the softmax from the logits and two numbers of each row",
         .cause = {"softmax_kept",
                   "a tensor as large as the logits is kept for backward; the logits are there "
                   "already, and the exponentials can be computed from them again"}});
  }
}

// An all-reduce of one number of each row, three times.
void check_bytes(CaseRunner& runner, const Played& played, const Problem& p) {
  const auto width = static_cast<std::int64_t>(bytes_of(p.loss_dtype()));
  const std::int64_t rows = p.rows(0) * width, logits = rows * p.columns() * p.ranks();
  const Cause gathered{"logits_gathered",
                       "logits travel; the ranks need three numbers of each row from each other, "
                       "whatever the size of the vocabulary"};
  check_wire(
      runner, played,
      {.enough = 3 * ring_bytes(rows, p.ranks()),
       .of_what = text("an all-reduce of one number of each row, three times,"),
       .mistakes = {{shard_bytes(logits, p.ranks()), gathered},
                    {shard_bytes(logits, p.ranks()) + 3 * ring_bytes(rows, p.ranks()), gathered},
                    {ring_bytes(logits, p.ranks()), gathered}}});
  check_operations(runner, played,
                   {.collectives = 3,
                    .allowed = "one all-reduce of the maximum, and "
                               "one or two of the sums,"});
}

}  // namespace lockstep::grader::vocab_parallel_cross_entropy
