// The exam of broadcast_parameters: the source's bits on every rank, in the tensors that were
// there, for parameters and buffers of every type, and each rank receives the model once.
#include "grader/parts/05_data_parallel/broadcast_parameters/case.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/05_data_parallel/broadcast_parameters/causes.hpp"

namespace lockstep::grader::broadcast_parameters {
namespace {

using Problem = ReplicaProblem;

// Every fourth number of a model is one that arithmetic may not give back as it was.
double odd_number(std::size_t e) {
  constexpr double not_finite[] = {std::numeric_limits<double>::quiet_NaN(),
                                   -std::numeric_limits<double>::infinity()};
  constexpr double smallest = 0x1p-24;  // of a half
  switch (e / 4 % 4) {
    case 0:
      return -0.0;
    case 1:
      return smallest;
    default:
      return not_finite[e / 4 % 2];
  }
}

// The elements of tensor i of model m on a group rank: integers use all their bits, beyond the 2^53
// that a double can hold; floating-point numbers are never zero.
Bytes values_of(const Problem& p, std::uint64_t salt, std::size_t m, std::size_t i, int rank) {
  const TensorPlan& plan = p.models[m].tensor(i);
  const auto count = static_cast<std::size_t>(plan.count);
  const auto bits = [&](std::size_t e) {
    return keyed_bits(salt, ((static_cast<std::uint64_t>(e) * 64 + i) * 4 + m) * 16 +
                                static_cast<std::uint64_t>(rank));
  };
  if (!is_integer(plan.dtype)) {
    std::vector<double> values(count);
    for (std::size_t e = 0; e < count; ++e) {
      const double size = static_cast<double>(bits(e) >> 40) * 0x1.0p-24 + 0.5;
      values[e] = size * (1 + rank) * (bits(e) & 1 ? 1.0 : -1.0);
      if (p.models[m].odd && e % 4 == 0) values[e] = odd_number(e);
    }
    return to_bytes(plan.dtype, values);
  }
  const std::size_t size = bytes_of(plan.dtype);
  Bytes bytes(count * size);
  for (std::size_t e = 0; e < count; ++e) {
    const std::uint64_t value = bits(e);
    std::memcpy(bytes.data() + e * size, &value, size);
  }
  return bytes;
}

std::string shown(DType dtype, const Bytes& bytes, std::size_t element) {
  const std::size_t size = bytes_of(dtype), at = element * size;
  if (at + size > bytes.size()) return "nothing";
  const auto one = std::span(bytes).subspan(at, size);
  if (dtype == DType::int64) return text(as_integers(one).front());
  return number(as_doubles(dtype, one).front());
}

void compare_tensor(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                    std::size_t m, std::size_t i, int rank,
                    const std::vector<TensorReport>& of_all) {
  const ModelPlan& model = p.models[m];
  const TensorReport& report = of_all[static_cast<std::size_t>(rank)];
  const auto where = text("rank ", rank, ", ", model.name(i));
  if (!report.same_tensor) {
    runner.fail(played, {.cause = "tensor_replaced",
                         .message = text(
                             model.name(i), " on rank ", rank,
                             " is another tensor after the call; the optimizer still holds the old "
                             "tensor and would update that one: receive into the existing value"),
                         .where = where});
  }
  std::vector<Bytes> of_ranks;
  for (int r = 0; r < p.members.size(); ++r) of_ranks.push_back(values_of(p, salt, m, i, r));
  const Bytes& right = of_ranks[static_cast<std::size_t>(model.source)];
  if (report.values != right) {
    const DType dtype = model.tensor(i).dtype;
    const auto at =
        std::mismatch(report.values.begin(), report.values.end(), right.begin(), right.end())
            .first -
        report.values.begin();
    const std::size_t element = static_cast<std::size_t>(at) / bytes_of(dtype);
    const std::string expected = shown(dtype, right, element);
    const std::string seen = shown(dtype, report.values, element);
    runner.fail(played,
                because(likely_cause(p, model, i, rank, of_all, of_ranks),
                        {.message = text(
                             m == 0 ? "" : "in the second call of this run, ", model.name(i), " (",
                             name_of(dtype), ") on rank ", rank, " has ", seen, " at element ",
                             element, " where the source, rank ", model.source, ", has ", expected),
                         .expected = expected,
                         .seen = seen,
                         .where = text(where, ", element ", element)}));
  }
  if (!report.gradient_kept) {
    runner.fail(played, {.cause = "gradient_changed",
                         .message = text("the gradient of ", model.name(i), " changed on rank ",
                                         rank, "; only values and buffers are broadcast here"),
                         .where = where});
  }
}

using Reports = std::vector<ModelReport>;  // of one rank, by model

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<Reports>& of_ranks) {
  for (std::size_t m = 0; m < p.models.size(); ++m) {
    for (std::size_t i = 0; i < p.models[m].size(); ++i) {
      std::vector<TensorReport> of_all;
      for (const Reports& reports : of_ranks) {
        if (reports.size() != p.models.size() || reports[m].size() != p.models[m].size()) {
          throw MalformedMessage("not a report a tensor");
        }
        of_all.push_back(reports[m][i]);
      }
      for (int rank = 0; rank < p.members.size(); ++rank) {
        compare_tensor(runner, played, p, salt, m, i, rank, of_all);
      }
    }
  }
}

ReplicaCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  const auto world_rank =
      static_cast<std::uint64_t>(p.members.ranks[static_cast<std::size_t>(rank)]);
  ReplicaCase one;
  for (std::size_t m = 0; m < p.models.size(); ++m) {
    const ModelPlan& model = p.models[m];
    Replica& replica = one.replicas.emplace_back();
    replica.source = model.source;
    replica.allocation_seed = keyed_bits(salt, 1'000'000 + 16 * m + world_rank) >> 32;
    for (std::size_t i = 0; i < model.size(); ++i) {
      auto& tensors = i < model.parameters.size() ? replica.parameters : replica.buffers;
      tensors.push_back({model.tensor(i).dtype, values_of(p, salt, m, i, rank)});
    }
  }
  return one;
}

void ask_of(const Problem&, std::uint64_t, int, const ReplicaCase& c, Situations& asked) {
  bool halves[2] = {};
  for (const Replica& replica : c.replicas) {
    bool scalar = false, cube = false;
    for (const auto* tensors : {&replica.parameters, &replica.buffers}) {
      for (const ReplicaTensor& tensor : *tensors) {
        const auto count = static_cast<std::int64_t>(tensor.values.size() / bytes_of(tensor.dtype));
        const Shape shape = shape_of_parameter(count);
        scalar = scalar || shape.empty();
        cube = cube || shape.size() == 3;
        halves[0] = halves[0] || tensor.dtype == DType::bfloat16;
        halves[1] = halves[1] || tensor.dtype == DType::float16;
        if (!is_integer(tensor.dtype)) {
          ask_of_values(as_doubles(tensor.dtype, tensor.values), asked);
        }
      }
    }
    if (scalar && cube) asked.insert(Situation::shapes);
  }
  if (halves[0] && halves[1]) asked.insert(Situation::every_dtype);
}

const RanksContract<Problem, ReplicaCase, Reports> contract{
    .case_of = case_of, .compare = compare, .ask_of = ask_of};

std::vector<TensorPlan> of_type(DType dtype, std::initializer_list<std::int64_t> counts) {
  std::vector<TensorPlan> tensors;
  for (const std::int64_t count : counts) tensors.push_back({dtype, count});
  return tensors;
}

ModelPlan plain_model(int source) {
  return {source, of_type(DType::float32, {35, 12, 1, 64, 72, 13}), {}};
}

// A model of every element type: halves beside the float32, running statistics, and counters.
ModelPlan mixed_model(int source) {
  ModelPlan model = plain_model(source);
  model.parameters.push_back({DType::bfloat16, 24});
  model.parameters.push_back({DType::float32, 0});
  model.parameters.push_back({DType::float16, 5});
  model.buffers = of_type(DType::float32, {7, 64});
  model.buffers.push_back({DType::int64, 16});
  model.buffers.push_back({DType::float64, 3});
  model.buffers.push_back({DType::int64, 0});
  model.buffers.push_back({DType::uint8, 40});
  model.buffers.push_back({DType::int32, 7});
  return model;
}

// True if anything travelled that has twice the bytes of a tensor of a half type.
bool travels_wider(const sim::Counters& counters, const ModelPlan& model) {
  std::vector<std::int64_t> wide;
  for (std::size_t i = 0; i < model.size(); ++i) {
    const TensorPlan& tensor = model.tensor(i);
    if (tensor.dtype == DType::bfloat16 || tensor.dtype == DType::float16) {
      wide.push_back(4 * tensor.count);
    }
  }
  const auto is_wide = [&](const auto& record) {
    return record.bytes > 0 && std::find(wide.begin(), wide.end(), record.bytes) != wide.end();
  };
  return std::any_of(counters.collectives.begin(), counters.collectives.end(), is_wide) ||
         std::any_of(counters.messages.begin(), counters.messages.end(), is_wide);
}

void check_traffic(CaseRunner& runner, const Played& played, const Problem& p) {
  const auto bytes = static_cast<double>(p.bytes());
  const int n = p.members.size();
  const double budget = (n - 1) * bytes, sent = total_bytes(played.counters);
  // A tenth for a checksum or a number that travels along; a second copy does not fit.
  if (sent > 1.1 * budget && travels_wider(played.counters, p.models.front())) {
    runner.fail(played, wasteful("wider_type", sent, budget, "from all ranks together",
                                 text("the replicas are right, but all ranks together send ",
                                      number(sent), " bytes where (N-1) times the model's ",
                                      number(bytes), " bytes = ", number(budget),
                                      " are enough; likely cause: 16-bit tensors travel in a wider "
                                      "type; broadcast takes a tensor of any type as it is")));
  }
  if (sent > 1.1 * budget) {
    runner.fail(played,
                wasteful("too_many_bytes", sent, budget, "from all ranks together",
                         text("the replicas are right, but all ranks together send ", number(sent),
                              " bytes where ", n, " ranks need (N-1) times the model's ",
                              number(bytes), " bytes = ", number(budget),
                              "; likely cause: tensors are reduced, gathered or sent more than "
                              "once; a broadcast delivers each number to each rank once")));
  }
  int rounds = 0;
  while ((1 << rounds) < n) ++rounds;
  const double busiest = busiest_rank_bytes(played.counters), allowed = rounds * bytes;
  if (busiest > 1.1 * allowed) {
    runner.fail(played,
                wasteful("star", busiest, allowed, "from one rank",
                         text("the replicas are right, but one rank sends ", number(busiest),
                              " bytes, the model's ", number(bytes),
                              " bytes once per other rank. Ranks that have the model can pass it "
                              "on: with group.broadcast no rank sends more than ⌈log₂N⌉ = ",
                              rounds, " times the model")));
  }
  const auto tensors = static_cast<std::int64_t>(p.models.front().size());
  check_operations(
      runner, played,
      {.collectives = tensors,
       .allowed = text("one broadcast for each of the ", tensors, " tensors of the model")});
}

const RanksChecks checks(contract, with(&Problem::models, {plain_model(0)}));

// The last rank's bits.
void odd_bits(CaseRunner& runner) {
  for (const int n : {2, 5}) {
    ModelPlan odd = mixed_model(n - 1);
    odd.odd = true;
    play_twice(runner, contract, checks.usual(runner, n, with(&Problem::models, {odd})));
  }
}

void other_sources(Problem& p) {
  const int n = p.members.size();
  p.models = {mixed_model(n - 1), mixed_model(n / 2)};
}

void cost(CaseRunner& runner) {
  for (const int n : {2, 4, 8, 13}) {
    ModelPlan model{n - 1, of_type(DType::float32, {400, 130, 50}), of_type(DType::int64, {25})};
    // Half of the bytes in halves: sent as float32 they are half as many again.
    if (n == 4) {
      model.parameters = of_type(DType::bfloat16, {1000, 130});
      model.parameters.push_back({DType::float16, 50});
    }
    checks.ask(runner, n, with(&Problem::models, {model}), check_traffic);
  }
  for (const auto& [n, count] : {std::pair(5, 1), {3, 3}, {1, 64}, {3, 70'000}}) {
    checks.ask(runner, n, with(&Problem::models, {{0, of_type(DType::float32, {count}), {}}}),
               check_traffic, {Situation::price_at_the_extremes});
  }
}

}  // namespace

Exam exam() {
  const ModelPlan two_tensors{0, of_type(DType::float32, {35, 12}), {}};
  ModelPlan with_counter = two_tensors;
  with_counter.buffers = of_type(DType::int64, {7});
  return {
      {"on 1 to 8 and 13 ranks every rank ends with rank 0's parameters", checks.every_size()},
      {"buffers and every element type are copied exactly; counters keep all their digits",
       in_turn(checks.on({3}, with(&Problem::models, {mixed_model(0)})),
               checks.on({2}, with(&Problem::models, {{0, of_type(DType::float64, {9}),
                                                       of_type(DType::int64, {1})}})),
               checks.on({2}, with(&Problem::models, {{0, {}, of_type(DType::float32, {4})}})))},
      {"the source's bits arrive: -0, NaN, infinities and the smallest numbers, too", odd_bits},
      {"any rank can be the source, and the next model can have another source",
       checks.on({2, 5, 8}, other_sources)},
      {"in a subgroup `source` is a rank of that subgroup",
       checks.in_a_subgroup(with(&Problem::models, {mixed_model(1), plain_model(2)}))},
      {"when a peer is lost, a rank throws CommError and never returns a partial copy of the model",
       in_turn(checks.lose_peers(4, 10, with(&Problem::models, {two_tensors})),
               checks.lose_peers(4, 10, with(&Problem::models, {with_counter})))},
      {"each rank receives the model once, and no rank sends it to every other rank", cost},
  };
}

}  // namespace lockstep::grader::broadcast_parameters
