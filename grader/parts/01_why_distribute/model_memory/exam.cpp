// The exam of model_memory: every field of every recipe, exactly. The judge counts in 128 bits and
// by its own table; wrong fields are matched against the usual misunderstandings.
#include "grader/parts/01_why_distribute/model_memory/case.hpp"

#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader::model_memory {
namespace {

using plan::MemoryReport;
using plan::Precision;
using plan::Recipe;
using plan::UpdateRule;
__extension__ using Wide = __int128;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t billion = 1'000'000'000;
constexpr std::array rules{UpdateRule::sgd, UpdateRule::momentum, UpdateRule::adam};
constexpr std::array precisions{Precision::float32, Precision::bfloat16_with_master,
                                Precision::bfloat16_alone};

enum Field : std::size_t { weights, gradients, master, state, activations, total, field_count };
constexpr std::array<const char*, field_count> names{
    "weights", "gradients", "master_weights", "optimizer_state", "activations", "total"};

// Bytes for each parameter of the first four fields: the table of the contract once more, written
// out for each of the nine recipes.
std::array<int, 4> bytes_per_parameter(const Recipe& recipe) {
  static constexpr std::array<std::array<std::array<int, 4>, 3>, 3> table{{
      {{{4, 4, 0, 0}, {2, 2, 4, 0}, {2, 2, 0, 0}}},  // SGD
      {{{4, 4, 0, 4}, {2, 2, 4, 4}, {2, 2, 0, 4}}},  // momentum
      {{{4, 4, 0, 8}, {2, 2, 4, 8}, {2, 2, 0, 8}}},  // Adam
  }};
  return table[static_cast<std::size_t>(recipe.rule)][static_cast<std::size_t>(recipe.precision)];
}

using Fields = std::array<Wide, field_count>;

Fields expected_of(const MemoryQuestion& q) {
  Fields fields{};
  const auto each = bytes_per_parameter(q.recipe);
  for (std::size_t f = 0; f < each.size(); ++f) fields[f] = Wide{q.parameters} * each[f];
  Wide saved = 0;
  for (const std::int64_t of_layer : q.saved_per_sample) saved += of_layer;
  fields[activations] = saved * q.batch * each[weights];
  for (std::size_t f = 0; f < total; ++f) fields[total] += fields[f];
  return fields;
}

Fields fields_of(const MemoryReport& r) {
  return {r.weights, r.gradients, r.master_weights, r.optimizer_state, r.activations, r.total};
}

bool valid(const MemoryQuestion& q) {
  bool negative = q.parameters < 0 || q.batch < 0;
  for (const std::int64_t saved : q.saved_per_sample) negative = negative || saved < 0;
  return !negative && expected_of(q)[total] <= largest;
}

std::string text_of(const Recipe& recipe) {
  static constexpr std::array rule{"SGD", "momentum", "Adam"};
  static constexpr std::array precision{"float32", "bfloat16 with a float32 master copy",
                                        "bfloat16 alone"};
  return text(rule[static_cast<std::size_t>(recipe.rule)], ", ",
              precision[static_cast<std::size_t>(recipe.precision)]);
}

std::string text_of(const MemoryQuestion& q) {
  return text(grouped(q.parameters), " parameters, ", text_of(q.recipe), ", ",
              q.saved_per_sample.size(), q.saved_per_sample.size() == 1 ? " layer" : " layers",
              ", batch ", q.batch);
}

// The likely cause of a wrong count, whichever field it is in.
std::optional<Cause> wrong_scale(Wide seen, Wide expected) {
  const auto low = static_cast<std::int32_t>(static_cast<std::uint32_t>(expected));
  if (seen == low || seen == static_cast<std::uint32_t>(low)) {
    return Cause{"wrapped_32", "this is the right count truncated to 32 bits"};
  }
  if (expected >= billion && (seen == expected / billion || seen == expected / (1 << 30))) {
    return Cause{"not_bytes", "this is the count in GB or GiB; the report is in bytes"};
  }
  if (seen == expected * 8)
    return Cause{"bits", "this is the count in bits; the report is in bytes"};
  return std::nullopt;
}

std::optional<Cause> wrong_state(const MemoryQuestion& q, Wide seen, Wide expected) {
  if (q.parameters == 0) return std::nullopt;
  const Wide parameters = q.parameters;
  const Wide kept = expected / 4 / parameters;  // numbers for each parameter
  if (q.recipe.precision != Precision::float32 && seen == kept * 2 * parameters) {
    return Cause{"state_in_bfloat16",
                 "in these recipes the optimizer state is float32, even with bfloat16 weights"};
  }
  if (q.recipe.precision == Precision::bfloat16_with_master && seen == expected + 4 * parameters) {
    return Cause{"master_in_state",
                 "this includes the master copy, which belongs in master_weights"};
  }
  if (q.recipe.rule == UpdateRule::adam && seen == 4 * parameters) {
    return Cause{"one_moment",
                 "Adam keeps two numbers per parameter, the first and the second moment"};
  }
  if (q.recipe.rule != UpdateRule::adam && seen == 8 * parameters) {
    return Cause{
        "state_of_adam",
        "this is Adam's state, two numbers per parameter; SGD keeps none, and momentum keeps one"};
  }
  return std::nullopt;
}

std::optional<Cause> wrong_activations(const MemoryQuestion& q, Wide seen, Wide expected) {
  const int bytes = bytes_per_parameter(q.recipe)[weights];
  if (expected != 0 && q.parameters > 1 && seen == expected * q.parameters) {
    return Cause{
        "activations_of_parameters",
        "this was multiplied by the number of parameters; saved_per_sample already counts numbers"};
  }
  if (seen == Wide{2} * q.parameters * bytes || seen == Wide{q.parameters} * bytes) {
    return Cause{"activations_of_parameters",
                 "activations do not depend on the number of parameters; they depend on what the "
                 "layers save and on the batch"};
  }
  if (seen * q.batch == expected) {
    return Cause{"without_batch",
                 "this is for one sample; every sample of the batch has its own activations"};
  }
  if (seen * bytes == expected) {
    return Cause{
        "elements",
        "this counts numbers, not bytes; each number takes the bytes of the weights' type"};
  }
  if (bytes == 2 && seen == expected * 2) {
    return Cause{"activations_in_float32",
                 "with bfloat16 weights the layers save bfloat16 activations, 2 bytes each"};
  }
  const auto is_one = [&](std::int64_t saved) { return seen == Wide{saved} * q.batch * bytes; };
  if (!q.saved_per_sample.empty()) {
    const bool last = is_one(q.saved_per_sample.back());
    const bool most = is_one(std::ranges::max(q.saved_per_sample));
    if (last || most) {
      return Cause{"one_layer_only",
                   text("this counts one layer only, the ", last ? "last" : "",
                        last && most ? " or the " : "", most ? "largest" : "",
                        "; every layer keeps its activations until backward reaches it")};
    }
  }
  return std::nullopt;
}

Cause likely_cause(const MemoryQuestion& q, const Fields& seen, const Fields& expected,
                   std::size_t field) {
  const Wide parameters = q.parameters;
  const Wide value = seen[field];
  if (const auto scale = wrong_scale(value, expected[field])) return *scale;
  if (field == master && value == 0) {
    return {"no_master_copy", "the float32 master copy of the weights is missing"};
  }
  if (field == master) {
    return {"needless_master",
            "only bfloat16_with_master has a master copy, 4 bytes per parameter"};
  }
  if (field == gradients && value == 4 * parameters) {
    return {"float32_gradients",
            "in these recipes gradients have the weights' type, 2 bytes each in bfloat16"};
  }
  if (field == state) {
    if (const auto cause = wrong_state(q, value, expected[field])) return *cause;
  }
  if (field == activations) {
    if (const auto cause = wrong_activations(q, value, expected[field])) return *cause;
  }
  if (field == total) {
    for (std::size_t left_out = 0; left_out < total; ++left_out) {
      if (expected[left_out] != 0 && value == expected[total] - expected[left_out]) {
        return {"left_out_of_total", text("the total lacks ", names[left_out])};
      }
    }
    if (value == 16 * parameters || value == 16 * parameters + expected[activations]) {
      return {"sixteen_for_all",
              "16 bytes per parameter is the total of Adam in float32 and in bfloat16 with a "
              "master copy; other recipes need less"};
    }
    return {"other_total", "the total is not the sum of the five other fields"};
  }
  if (field != activations && q.parameters > 0 && value > 0 && value % parameters == 0) {
    return {"other_bytes", text("this is ", static_cast<std::int64_t>(value / parameters),
                                " bytes per parameter; the contract's table has ",
                                static_cast<std::int64_t>(expected[field] / parameters))};
  }
  return {"other_bytes", field == activations
                             ? "activations are the numbers that all layers save for one sample, "
                               "times the batch, times the bytes of the weights' type"
                             : "the bytes per parameter are not those of the contract's table"};
}

std::string text_of(Wide bytes) {
  if (bytes > largest) return "more than 64 bits can hold";
  return grouped(static_cast<std::int64_t>(bytes));
}

std::optional<Failure> wrong(std::span<const MemoryQuestion> asked, const MemoryReport& report) {
  const MemoryQuestion& q = asked.back();
  const Fields seen = fields_of(report), expected = expected_of(q);
  for (std::size_t field = 0; field < field_count; ++field) {
    if (seen[field] == expected[field]) continue;
    const auto right_of = [field](const MemoryQuestion& other) {
      return static_cast<std::int64_t>(expected_of(other)[field]);
    };
    const auto earlier = earlier_answers(asked, right_of);
    const WrongInteger number{static_cast<std::int64_t>(seen[field]), right_of(q), earlier};
    return because(known_or_likely(likely_cause(q, seen, expected, field), number),
                   {.message = text(text_of(q), ": ", names[field], " is ", text_of(seen[field]),
                                    " bytes where ", text_of(expected[field]), " were expected"),
                    .expected = text(names[field], " ", text_of(expected[field])),
                    .seen = text(names[field], " ", text_of(seen[field]))});
  }
  return std::nullopt;
}

constexpr Recipe plain{UpdateRule::sgd, Precision::float32};
constexpr Recipe mixed{UpdateRule::adam, Precision::bfloat16_with_master};

const FunctionContract<MemoryQuestion, MemoryReport> contract{
    .text_of = [](const MemoryQuestion& q) { return text_of(q); },
    .wrong = wrong,
    .refusals = {{.valid = valid,
                  .accepts = {"accepted_what_does_not_fit",
                              "an argument is negative, or a number of bytes does not fit into 64 "
                              "bits: a product or a sum wraps around unseen"},
                  .refuses = {"refused_what_fits", "all of its numbers of bytes fit into 64 bits"},
                  .nonsense = {{largest / 2, plain, {}, 1},
                               {-1, plain, {}, 1},
                               {1, plain, {3, -1, 5}, 1},
                               {1, plain, {}, -1}}}},
    .sizes = [](const MemoryQuestion& q) -> Sizes {
      return {std::ssize(q.saved_per_sample), {q.parameters, q.batch}};
    }};

// All nine recipes with the same model.
std::vector<MemoryQuestion> all_recipes(std::int64_t parameters,
                                        const std::vector<std::int64_t>& saved,
                                        std::int64_t batch) {
  std::vector<MemoryQuestion> questions;
  for (const UpdateRule rule : rules) {
    for (const Precision precision : precisions) {
      questions.push_back({parameters, {rule, precision}, saved, batch});
    }
  }
  return questions;
}

std::vector<MemoryQuestion> random_models(CaseRunner& runner) {
  std::vector<MemoryQuestion> questions;
  for (int model = 0; model < 20; ++model) {
    std::vector<std::int64_t> saved(static_cast<std::size_t>(runner.draw_between(1, 12)));
    for (auto& layer : saved) layer = runner.draw_between(0, 50'000'000);
    const auto nine =
        all_recipes(runner.draw_between(1, 2'000 * billion), saved, runner.draw_between(1, 4096));
    questions.insert(questions.end(), nine.begin(), nine.end());
  }
  return questions;
}

// As many layers as ranks elsewhere, and each count of parameters and samples.
std::vector<MemoryQuestion> models_of_every_size() {
  std::vector<MemoryQuestion> questions;
  for (const int layers : every_rank_count) {
    std::vector<std::int64_t> saved(static_cast<std::size_t>(layers));
    std::iota(saved.begin(), saved.end(), layers);
    for (const std::int64_t count : every_count(layers, 0)) {
      questions.push_back({count, mixed, saved, count % 1000});
    }
  }
  return questions;
}

// For each recipe the most parameters whose total fits into 64 bits, and one more.
std::vector<MemoryQuestion> edge_of_every_recipe() {
  std::vector<MemoryQuestion> questions;
  for (const MemoryQuestion& one : all_recipes(1, {}, 1)) {
    const auto each = bytes_per_parameter(one.recipe);
    const std::int64_t most = largest / std::accumulate(each.begin(), each.end(), 0);
    questions.push_back({most, one.recipe, {}, 1});
    questions.push_back({most + 1, one.recipe, {}, 1});
  }
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"1.5, 175 and 540 billion float32 weights take 6, 700 and 2,160 GB; gradients take as much "
       "again",
       [](CaseRunner& runner) {
         ask(runner, contract, "SGD, float32",
             {{3 * billion / 2, plain, {}, 1},
              {175 * billion, plain, {}, 1},
              {540 * billion, plain, {}, 1}});
       }},
      {"each of the nine recipes has the right bytes per parameter",
       [](CaseRunner& runner) {
         ask(runner, contract, "nine recipes",
             all_recipes(runner.draw_between(1'000'000, 2'000'000), {}, 1));
         ask(runner, contract, "nine recipes, no parameters", all_recipes(0, {}, 1));
       }},
      {"Adam with a master copy takes 112 GB for 7 billion parameters, 2.8 TB for 175 billion",
       [](CaseRunner& runner) {
         ask(runner, contract, "Adam, mixed",
             {{7 * billion, mixed, {}, 1}, {175 * billion, mixed, {}, 1}});
         ask(runner, contract, "7 billion parameters", all_recipes(7 * billion, {}, 1));
       }},
      {"activations depend on the batch and on what the layers save, not on the parameters",
       [](CaseRunner& runner) {
         ask(runner, contract, "two layers, batch 8", all_recipes(1000, {10, 30}, 8));
         ask(runner, contract, "the same with batch 16", all_recipes(1000, {10, 30}, 16));
         ask(runner, contract, "the same layers, more parameters",
             all_recipes(1'000'000, {10, 30}, 16));
         ask(runner, contract, "no batch", all_recipes(1000, {10, 30}, 0));
       }},
      {"for any model every field is right to the byte",
       [](CaseRunner& runner) {
         ask(runner, contract, "random models", random_models(runner));
         ask(runner, contract, "models of every size", models_of_every_size());
         ask(runner, contract, "counts beyond 2^53",
             all_recipes((std::int64_t{1} << 58) + 1, {}, 1));
       }},
      {"a count that overflows 64 bits is refused; the largest that fits is not",
       [](CaseRunner& runner) {
         ask(runner, contract, "the edge of 64 bits, of every recipe", edge_of_every_recipe());
         const std::int64_t wrapping = (std::int64_t{1} << 62) + 4000;
         ask(runner, contract, "at the edge of 64 bits",
             {{largest, plain, {}, 1},
              {0, plain, {0}, largest},
              {largest / 2, plain, {}, 1},  // each kind overflows by itself
              {wrapping, plain, {}, 1},     // and what is left of it looks like a count
              {wrapping / 2, mixed, {}, 1},
              {wrapping / 4, {UpdateRule::adam, Precision::bfloat16_alone}, {}, 1},
              {0, plain, {largest / 8}, 2},
              {0, plain, {largest / 8}, 3},
              {0, plain, {std::int64_t{1} << 62}, 4},        // saved · batch wraps to 0
              {0, plain, {largest / 2, largest / 2, 2}, 1},  // the sum over the layers
              {largest / 16, mixed, {8}, 1}});               // only the total
       }},
      check_of_refusals(contract, "negative arguments are refused", {{1000, mixed, {10, 30}, 8}}),
  };
}

}  // namespace lockstep::grader::model_memory
