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

// Fewer ranks, fewer losses, fewer rows, fewer tokens.
std::vector<Problem> smaller(const Problem& p) {
  std::vector<Problem> offered;
  for (int ranks = 1; ranks < p.ranks(); ++ranks) {
    offered.emplace_back(p).members = whole_world(ranks);
  }
  if (p.shapes.size() > 1) offered.emplace_back(p).shapes = {p.shapes.front()};
  if (p.shapes != std::vector<std::vector<std::int64_t>>{{2}}) {
    offered.emplace_back(p).shapes = {{2}};
  }
  if (p.vocabulary > p.ranks() + 1 && p.logits != Logits::in_turn) {
    offered.emplace_back(p).vocabulary = p.ranks() + 1;
  }
  return offered;
}

Contract contract_of(CaseRunner& runner, decltype(Contract::compare) compared = compare) {
  return {.case_of = case_of,
          .compare = std::move(compared),
          .ask_of = [](const Problem& p, std::uint64_t salt, int rank, const VocabCase&,
                       Situations& asked) { ask_of(p, salt, rank, asked); },
          .smaller = smaller,
          .services =
              [&runner](const Problem& p, std::uint64_t) {
                return std::tuple(
                    MomentService(p.members, static_cast<std::uint32_t>(p.shapes.size()),
                                  [&runner](int rank) { return runner.memory_bytes(rank); }));
              }};
}

void judge_each(CaseRunner& runner, const std::vector<Problem>& problems) {
  for (Problem p : problems) {
    p.schedule_seed = runner.draw();
    judge(runner, contract_of(runner), p);
  }
}

Problem on_ranks(int ranks) { return {.members = whole_world(ranks)}; }

std::vector<Problem> any_ranks() {
  std::vector<Problem> all;
  for (const int ranks : rank_counts) {
    Problem p = on_ranks(ranks);
    p.vocabulary = 3 * ranks;
    p.shapes = {{ranks + 2}};
    all.push_back(p);
  }
  return all;
}

// The rows of a test of Megatron's: the losses of labels 0, 2, 4, 6 are 10.2309, 8.2309, 6.2309 and
// 4.2309, and so on in turn.
std::vector<Problem> logits_in_turn() {
  Problem p = on_ranks(4);
  p.logits = Logits::in_turn;
  p.vocabulary = 128;
  p.shapes = {{1}, {1}, {1}, {1}};
  return {p};
}

std::vector<Problem> large_logits() {
  std::vector<Problem> all;
  for (const Logits logits : logits_far_apart) {
    for (const DType dtype : {DType::float64, DType::float32}) {
      Problem& p = all.emplace_back(on_ranks(3));
      p.logits = logits;
      p.dtype = dtype;
    }
  }
  return all;
}

// A last rank with fewer tokens than columns, and ranks with none.
std::vector<Problem> padded() {
  std::vector<Problem> all;
  for (const auto& [ranks, vocabulary] : {std::pair{3, 10}, {2, 5}, {4, 5}, {8, 1}, {5, 7}}) {
    for (const Padding padding : {Padding::numbers, Padding::odd}) {
      Problem& p = all.emplace_back(on_ranks(ranks));
      p.vocabulary = vocabulary;
      p.padding = padding;
    }
  }
  all.back().logits = Logits::far_down;  // below what a column of zeros would have
  all.back().padding = Padding::numbers;
  return all;
}

std::vector<Problem> reductions() {
  std::vector<Problem> all;
  for (const auto reduction : {ops::Reduction::mean, ops::Reduction::sum}) {
    for (const std::int64_t ignored : {std::int64_t{-100}, std::int64_t{3}, std::int64_t{-1}}) {
      Problem& p = all.emplace_back(on_ranks(3));
      p.shapes = {{7}};
      p.labels = Labels::some_ignored;
      p.reduction = reduction;
      p.ignored_label = ignored;
    }
  }
  Problem& none = all.emplace_back(on_ranks(2));  // the sum of no row is 0
  none.labels = Labels::all_ignored;
  none.reduction = ops::Reduction::sum;
  return all;
}

std::vector<Problem> odd_logits() {
  std::vector<Problem> all;
  for (const Logits logits :
       {Logits::not_a_number, Logits::infinity, Logits::nothing, Logits::zeros}) {
    all.emplace_back(on_ranks(3)).logits = logits;
  }
  return all;
}

std::vector<Problem> refused() {
  std::vector<Problem> all;
  for (const Refused refused :
       {Refused::label_below, Refused::label_behind, Refused::label_far, Refused::all_ignored,
        Refused::column_missing, Refused::column_too_many}) {
    Problem& p = all.emplace_back(on_ranks(3));
    p.refused = refused;
    p.vocabulary = 11;
  }
  return all;
}

// Labels of no dimension, one, two and three; all losses are computed before the first one goes
// back.
Problem of_shapes(int ranks) {
  Problem p = on_ranks(ranks);
  p.shapes = {{2, 3}, {}, {6}, {2, 1, 3}, {0}};
  p.reduction = ops::Reduction::sum;
  return p;
}

void in_flight(CaseRunner& runner) {
  Problem p = on_ranks(3);
  p.shapes = {{4}, {4}, {4}};
  judge_each(runner, {p});
  p = of_shapes(8);
  p.members.ranks = {6, 1, 4};
  play_twice(runner, contract_of(runner), p);
  std::vector<Problem> all{of_shapes(2), on_ranks(3)};
  all.back().walk = VocabWalk::inference;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    all.emplace_back(on_ranks(3)).dtype = dtype;
  }
  judge_each(runner, all);
}

// Logits of 4 MB on each rank.
void memory(CaseRunner& runner) {
  Problem p = on_ranks(2);
  p.dtype = DType::float32;
  p.vocabulary = 32'768;
  p.shapes = {{64}};
  p.logits = Logits::filled;
  p.measured = true;
  p.schedule_seed = runner.draw();
  judge(runner, contract_of(runner, compare_memory), p);
}

void bytes_on_the_wire(CaseRunner& runner) {
  for (const auto& [ranks, vocabulary, rows] :
       {std::tuple{2, 40, 6}, {4, 1, 5}, {8, 1000, 3}, {1, 9, 4}}) {
    Problem p = on_ranks(ranks);
    p.vocabulary = vocabulary;
    p.shapes = {{rows}};
    p.schedule_seed = runner.draw();
    Situations asked;
    if (ranks == 1) asked = {Situation::price_at_the_extremes};
    judge(runner, contract_of(runner), p, check_bytes, asked);
  }
}

Check check(const std::string& name, const std::function<std::vector<Problem>()>& problems) {
  return {name, [problems](CaseRunner& runner) { judge_each(runner, problems()); }};
}

}  // namespace

Exam exam() {
  return {
      check("on 1 to 8 and 13 ranks, loss and gradient are those of the whole rows", any_ranks),
      check("logits 0 … 7 in turn on four ranks: 10.2309, 8.2309, 6.2309, 4.2309", logits_in_turn),
      check("logits of ±10,000, the largest on any rank: the loss is finite and right",
            large_logits),
      check("padding enters no maximum, no sum and no gradient, whatever it holds", padded),
      check("mean and sum; rows whose label is ignored add nothing", reductions),
      {"several losses before the first one goes back, of labels of any shape, in a subgroup, "
       "twice; for inference; and smaller types",
       in_flight},
      check("NaN and infinity show in the loss of every rank; -∞ and zeros are logits", odd_logits),
      check("labels outside the vocabulary and columns that do not fit are refused before anything "
            "is sent",
            refused),
      {"when a peer is lost, a rank throws CommError",
       [](CaseRunner& runner) { judge_lost_peers(runner, contract_of(runner), on_ranks(4)); },
       {},
       Asks::cost},
      {"the ranks exchange three numbers of each row, and no logits",
       bytes_on_the_wire,
       {},
       Asks::cost},
      {"for backward, two numbers of each row are kept, and no softmax", memory, {}, Asks::cost},
  };
}

}  // namespace lockstep::grader::vocab_parallel_cross_entropy
