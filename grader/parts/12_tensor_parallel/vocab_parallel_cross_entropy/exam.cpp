// The exam of vocab_parallel_cross_entropy. A rank is given its columns of the logits and no
// others, so nobody can compute the loss alone. The judge computes it of the whole rows, in double,
// and counts what travels.
#include "grader/parts/12_tensor_parallel/vocab_parallel_cross_entropy/rules.hpp"

namespace lockstep::grader::vocab_parallel_cross_entropy {
namespace {

using Contract = RanksContract<Problem, VocabCase, Reports, MomentService>;

void ask_of(const Problem& p, std::uint64_t salt, int rank, Situations& asked) {
  const Call call = drawn_call(p, salt, 0);
  std::vector<double> mine;
  const std::int64_t width = p.columns() * p.ranks();
  for (std::int64_t e = 0; e < std::ssize(call.logits); ++e) {
    const std::int64_t column = e % width;
    if (column / p.columns() == rank && column < p.vocabulary) mine.push_back(call.logits[at(e)]);
  }
  ask_of_values(mine, asked);
  if (p.dtype == DType::float64) asked.insert(Situation::double_digits);
  if (p.dtype == DType::bfloat16) asked.insert(Situation::every_dtype);
  if (p.shapes.size() > 3) asked.insert(Situation::shapes);
}

// Fewer tokens.
void smaller_vocabulary(const Problem& p, std::vector<Problem>& offered) {
  if (p.vocabulary > p.ranks() + 1 && p.logits != Logits::in_turn) {
    offered.emplace_back(p).vocabulary = p.ranks() + 1;
  }
}

// Fewer losses, fewer rows.
void fewer_rows(const Problem& p, std::vector<Problem>& offered) {
  if (p.shapes.size() > 1) offered.emplace_back(p).shapes = {p.shapes.front()};
  if (p.shapes != std::vector<std::vector<std::int64_t>>{{2}}) {
    offered.emplace_back(p).shapes = {{2}};
  }
}

const Contract contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of = [](const Problem& p, std::uint64_t salt, int rank, const VocabCase&,
                 Situations& asked) { ask_of(p, salt, rank, asked); },
    .smaller = smaller_by(fewer_ranks, fewer_rows, smaller_vocabulary),
    .services =
        [](CaseRunner& runner, const Problem& p, std::uint64_t) {
          return std::tuple(
              MomentService(runner, p.members, p.shapes.size(), MomentService::Measures::left));
        }};

const RanksChecks checks(contract);

void as_many_rows_as_ranks(Problem& p) {
  p.vocabulary = std::int64_t{3} * p.ranks();
  p.shapes = {{p.ranks() + 2}};
}

// The rows of a test of Megatron's: the losses of labels 0, 2, 4, 6 are 10.2309, 8.2309, 6.2309 and
// 4.2309, and so on in turn.
void logits_in_turn(Problem& p) {
  p.logits = Logits::in_turn;
  p.vocabulary = 128;
  p.shapes = {{1}, {1}, {1}, {1}};
}

void large_logits(CaseRunner& runner) {
  for (const Logits logits : logits_far_apart) {
    checks.types({DType::float64, DType::float32}, 3, with(&Problem::logits, logits))(runner);
  }
}

// A last rank with fewer tokens than columns, and ranks with none.
void padded(CaseRunner& runner) {
  for (const auto& [ranks, vocabulary] : {std::pair{3, 10}, {2, 5}, {4, 5}, {8, 1}, {5, 7}}) {
    for (const Padding padding : {Padding::numbers, Padding::odd}) {
      checks.ask(runner, ranks, [&, tokens = vocabulary](Problem& p) {
        p.vocabulary = tokens;
        p.padding = padding;
        if (tokens != 7 || padding != Padding::odd) return;
        p.logits = Logits::far_down;  // below what a column of zeros would have
        p.padding = Padding::numbers;
      });
    }
  }
}

void reductions(CaseRunner& runner) {
  for (const auto reduction : {ops::Reduction::mean, ops::Reduction::sum}) {
    for (const std::int64_t ignored : {std::int64_t{-100}, std::int64_t{3}, std::int64_t{-1}}) {
      checks.ask(runner, 3, [&](Problem& p) {
        p.shapes = {{7}};
        p.labels = Labels::some_ignored;
        p.reduction = reduction;
        p.ignored_label = ignored;
      });
    }
  }
  checks.ask(runner, 2, [](Problem& p) {  // the sum of no row is 0
    p.labels = Labels::all_ignored;
    p.reduction = ops::Reduction::sum;
  });
}

// Labels of no dimension, one, two and three; all losses are computed before the first one goes
// back.
void of_any_shape(Problem& p) {
  p.shapes = {{2, 3}, {}, {6}, {2, 1, 3}, {0}};
  p.reduction = ops::Reduction::sum;
}

// Logits of 3 MB on each rank.
void large(Problem& p) {
  p.dtype = DType::float32;
  p.vocabulary = 24'576;
  p.shapes = {{64}};
}

void bytes_on_the_wire(CaseRunner& runner) {
  for (const auto& [ranks, vocabulary, rows] :
       {std::tuple{2, 40, 6}, {4, 1, 5}, {8, 1000, 3}, {1, 9, 4}}) {
    checks.price({ranks}, check_bytes, [tokens = vocabulary, rows = rows](Problem& p) {
      p.vocabulary = tokens;
      p.shapes = {{rows}};
    })(runner);
  }
}

}  // namespace

Exam exam() {
  return {
      {"on 1 to 8 and 13 ranks, loss and gradient are those of the whole rows",
       checks.every_size(as_many_rows_as_ranks)},
      {"logits 0 … 7 in turn on four ranks: 10.2309, 8.2309, 6.2309, 4.2309",
       checks.on({4}, logits_in_turn)},
      {"logits of ±10,000, the largest on any rank: the loss is finite and right", large_logits},
      {"padding enters no maximum, no sum and no gradient, whatever it holds", padded},
      {"mean and sum; rows whose label is ignored add nothing", reductions},
      {"several losses before the first one goes back, of labels of any shape, in a subgroup, "
       "twice; for inference; and smaller types",
       in_turn(checks.on({3}, with(&Problem::shapes, {{4}, {4}, {4}})),
               checks.twice_in_a_subgroup(of_any_shape), checks.on({2}, of_any_shape),
               checks.on({3}, with(&Problem::walk, VocabWalk::inference)), checks.any_type().run)},
      {"NaN and infinity show in the loss of every rank; -∞ and zeros are logits",
       checks.each(3, &Problem::logits,
                   {Logits::not_a_number, Logits::infinity, Logits::nothing, Logits::zeros})},
      {"labels outside the vocabulary and columns that do not fit are refused before anything is "
       "sent",
       checks.each(3, &Problem::refused,
                   {Refused::label_below, Refused::label_behind, Refused::label_far,
                    Refused::all_ignored, Refused::column_missing, Refused::column_too_many},
                   with(&Problem::vocabulary, 11))},
      checks.lost_peers(4),
      of_cost("the ranks exchange three numbers of each row, and no logits", bytes_on_the_wire),
      of_cost("for backward, two numbers of each row are kept, and no softmax",
              checks.then(check_memory).on({2}, large)),
  };
}

}  // namespace lockstep::grader::vocab_parallel_cross_entropy
