// The exam of split_model. The judge runs the layers (layers.hpp), so that a gradient is right only
// if activations and gradients travelled; it counts what did, and knows when devices worked.
#include <algorithm>
#include <cmath>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/schedule/chain_rules.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/13_pipeline_parallel/split_model/layers.hpp"

namespace lockstep::grader::split_model {
namespace {

struct Problem {
  Members members;
  std::vector<int> device_of_layer;
  int rows = 2;
  std::uint64_t schedule_seed = 0;
  int shapes = 1;  // of what layers exchange
  enum class Fine : std::uint8_t { none, inputs, coefficients };
  Fine fine = Fine::none;  // what has numbers that no float32 holds
  Odd odd = Odd::none;     // what the batch holds

  int layers() const { return static_cast<int>(device_of_layer.size()); }
  int device_of(int layer) const { return device_of_layer[static_cast<std::size_t>(layer)]; }
  std::vector<int> layers_of(int device) const {
    std::vector<int> mine;
    for (int layer = 0; layer < layers(); ++layer) {
      if (device_of(layer) == device) mine.push_back(layer);
    }
    return mine;
  }
  std::string description() const {
    std::string where;
    for (const int device : device_of_layer) where += text(where.empty() ? "" : ", ", device);
    return text(members.description(), ", layers on devices ", where, name_of(odd));
  }
};

Chain chain_of(const Problem& p, std::uint64_t salt) {
  Chain chain = make_chain(salt, p.layers(), {p.rows});
  if (p.fine == Problem::Fine::inputs) return with_fine_inputs(std::move(chain));
  if (p.fine == Problem::Fine::coefficients) return with_fine_coefficients(std::move(chain));
  make_odd(chain.inputs.front(), p.odd);
  return chain;
}

SplitCase case_of(const Problem& p, std::uint64_t salt, int device) {
  SplitCase one{.device_of_layer = p.device_of_layer,
                .share = share_of(chain_of(p, salt), p.layers_of(device))};
  one.share.matrices.clear();
  one.share.shapes = p.shapes;
  return one;
}

using Gradients = std::vector<std::vector<double>>;

Cause rounded() {
  return {"rounded", "a tensor was rounded to float32 on its way; the layer chooses the dtype"};
}

Cause cause_of(const Gradients& seen, const std::vector<double>& wrong,
               const std::vector<double>& right, std::size_t at) {
  if (auto cause = cause_by_finiteness(wrong, right, at)) return *std::move(cause);
  bool all_zero = true, finite = true;
  for (const auto& one : seen) {
    for (const double value : one) {
      all_zero = all_zero && value == 0;
      finite = finite && std::isfinite(value);
    }
  }
  if (!finite) {
    return {"no_number", "a layer was given a tensor that nobody wrote: was it received?"};
  }
  if (all_zero) return {"no_gradient", "no backward pass went through this device's layers"};
  return {"other_gradient",
          "a layer was given something other than what its neighbour in the model made; the layer "
          "before may lie on another device than the one that this device ran last"};
}

void check_passes(CaseRunner& runner, const Played& played, const Problem& p, int device,
                  const std::vector<int>& passes) {
  std::vector<int> right;
  for (const int layer : p.layers_of(device)) right.push_back(layer + 1);
  for (std::size_t k = right.size(); k-- > 0;) right.push_back(-right[k]);
  if (passes == right) return;
  runner.fail(played,
              because({"other_passes",
                       "each layer runs once forward, in the order of the model, and once "
                       "backward, in the reverse order"},
                      {.message = text("on device ", device, " the passes are ", listed(passes),
                                       " where ", listed(right),
                                       " are right; k is layer k-1 forward, and -k backward"),
                       .expected = listed(right),
                       .seen = listed(passes),
                       .where = text("device ", device)}));
}

void check_gradients(CaseRunner& runner, const Played& played, const Problem& p, int device,
                     const ChainResult& right, const Gradients& seen) {
  const std::vector<int> mine = p.layers_of(device);
  for (std::size_t k = 0; k < mine.size(); ++k) {
    const auto& expected = right.gradients[static_cast<std::size_t>(mine[k])];
    const auto at = first_difference(seen[k], expected, std::vector<double>(expected.size(), 0));
    if (!at) continue;
    const std::string wanted = number_at(expected, *at), shown = number_at(seen[k], *at);
    runner.fail(played, because(std::ranges::equal(seen[k], expected, is_rounded)
                                    ? rounded()
                                    : cause_of(seen, seen[k], expected, *at),
                                {.message = text("the gradient of layer ", mine[k], ", on device ",
                                                 device, ", is ", shown, " at element ", *at,
                                                 " where ", wanted, " is right"),
                                 .expected = wanted,
                                 .seen = shown,
                                 .where = text("device ", device, ", layer ", mine[k])}));
  }
}

void check_loss(CaseRunner& runner, const Played& played, const Problem& p, int device,
                double right, const std::vector<double>& seen) {
  const int last = p.device_of_layer.back();
  Failure failure{.expected = device == last ? number(right) : "undefined",
                  .seen = seen.empty() ? "undefined" : number(seen[0]),
                  .where = text("device ", device)};
  if (device != last && !seen.empty()) {
    failure.cause = "loss_elsewhere";
    failure.message = text("device ", device, " returns a loss, but the last layer lies on device ",
                           last, "; elsewhere it is undefined");
    runner.fail(played, failure);
  }
  if (device == last && seen.empty()) {
    failure.cause = "no_loss";
    failure.message = text("device ", device, " has the last layer, but returns no loss");
    runner.fail(played, failure);
  }
  if (device != last) return;
  const double exact = 0;
  if (!first_difference(seen, {&right, 1}, {&exact, 1})) return;
  failure.message = text("the loss is ", number(seen[0]), " where ", number(right), " is right");
  Cause cause{"other_loss",
              "a layer was given something other than what the layer before it made, or the loss "
              "is not what the last forward pass returned"};
  if (seen.size() == 1 && is_rounded(seen[0], right)) cause = rounded();
  if (auto odd = cause_by_finiteness(seen, {&right, 1}, 0)) cause = *std::move(odd);
  runner.fail(played, because(cause, failure));
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<SplitReport>& reports, const LayerService& layers) {
  const ChainResult right = result_of(chain_of(p, salt), {1}, {1});
  for (int device = 0; device < p.members.size(); ++device) {
    check_passes(runner, played, p, device, layers.passes(device));
    check_loss(runner, played, p, device, right.loss,
               reports[static_cast<std::size_t>(device)].loss);
    Gradients seen;
    for (const int layer : p.layers_of(device)) seen.push_back(layers.gradient(layer));
    check_gradients(runner, played, p, device, right, seen);
  }
}

// The messages, in order: source and destination of each boundary, forward and back.
using Routes = std::vector<std::pair<int, int>>;
Routes right_routes(const Problem& p) {
  Routes routes;
  for (int layer = 0; layer + 1 < p.layers(); ++layer) {
    if (p.device_of(layer) == p.device_of(layer + 1)) continue;
    routes.emplace_back(p.device_of(layer), p.device_of(layer + 1));
  }
  for (std::size_t k = routes.size(); k-- > 0;)
    routes.emplace_back(routes[k].second, routes[k].first);
  return routes;
}

std::string text_of(const Routes& routes) {
  std::string all;
  for (const auto& [src, dst] : routes) all += text(all.empty() ? "" : ", ", src, "→", dst);
  return all.empty() ? "none" : all;
}

void check_transfers(CaseRunner& runner, const Played& played, const Problem& p) {
  const Routes right = right_routes(p);
  Routes seen;
  for (const auto& message : played.counters.messages) seen.emplace_back(message.src, message.dst);
  const std::int64_t bytes = p.rows * chain_width * static_cast<std::int64_t>(sizeof(double));
  const bool fit = std::ranges::all_of(played.counters.messages,
                                       [&](const auto& message) { return message.bytes == bytes; });
  if (seen == right && fit) return;
  Failure failure{
      .message = seen == right
                     ? text("the gradients are right, but not every message has the ", bytes,
                            " bytes of one activation")
                     : text("the gradients are right, but the messages are ", text_of(seen),
                            " where the layers' places ask for ", text_of(right)),
      .expected = text_of(right),
      .seen = text_of(seen)};
  failure.verdict = Verdict::efficiency;
  runner.fail(played, because({"other_transfers",
                               "an activation goes to the device of the next layer, its gradient "
                               "comes back, and nothing else travels"},
                              failure));
}

// The layers one after the other, and 7 µs for each message.
void check_time(CaseRunner& runner, const Played& played, const Problem& p) {
  const double passes_s = 3 * forward_s * p.layers();
  const double most_s = passes_s + 7e-6 * static_cast<double>(right_routes(p).size());
  if (played.counters.makespan_s < passes_s * (1 - 1e-9)) {
    throw MalformedMessage("a run of less time than its layers take");
  }
  if (played.counters.makespan_s <= most_s) return;
  const auto micros = [](double seconds) { return text(std::lround(seconds * 1e6), " µs"); };
  Failure failure{
      .message = text("the gradients are right, but the run takes ",
                      micros(played.counters.makespan_s), " where the passes take ",
                      micros(passes_s), " and all transfers end within ", micros(most_s)),
      .expected = text("at most ", micros(most_s)),
      .seen = micros(played.counters.makespan_s)};
  failure.verdict = Verdict::efficiency;
  runner.fail(
      played,
      because({"slow_way", "devices wait for each other more than the layers make them"}, failure));
}

// Without its last layer, or with two neighbours on one device.
std::vector<Problem> smaller(const Problem& p) {
  std::vector<Problem> offered;
  if (p.layers() > 1) offered.emplace_back(p).device_of_layer.pop_back();
  for (int layer = 0; layer + 1 < p.layers(); ++layer) {
    if (p.device_of(layer) == p.device_of(layer + 1)) continue;
    auto& map = offered.emplace_back(p).device_of_layer;
    map.erase(map.begin() + layer);
  }
  return offered;
}

void ask_of(const Problem& p, std::uint64_t salt, int, const SplitCase&, Situations& asked) {
  ask_of_values(chain_of(p, salt).inputs.front(), asked);
  if (p.fine != Problem::Fine::none) asked.insert(Situation::double_digits);
  if (p.shapes > 1) asked.insert(Situation::shapes);
}

using Contract = RanksContract<Problem, SplitCase, SplitReport, LayerService>;
const Contract contract{
    .case_of = case_of,
    .compare = compare,
    .ask_of = ask_of,
    .smaller = smaller,
    .services = [](CaseRunner&, const Problem& p, std::uint64_t salt) {
      return std::tuple(LayerService(p.members, p.device_of_layer, chain_of(p, salt)));
    }};

Problem problem_of(CaseRunner& runner, int devices, std::vector<int> device_of_layer) {
  const int rows = static_cast<int>(runner.draw_between(1, 4));
  return {whole_world(devices), std::move(device_of_layer), rows, runner.draw()};
}

// Nine layers on any devices.
Problem drawn(CaseRunner& runner, int devices) {
  std::vector<int> map;
  for (int layer = 0; layer < 9; ++layer) {
    map.push_back(static_cast<int>(runner.draw_between(0, devices - 1)));
  }
  return problem_of(runner, devices, map);
}

const RanksChecks checks(contract, drawn);
// Three devices, of which the layers are where a check says.
const RanksChecks on_three(contract, [](CaseRunner& runner, int) {
  return problem_of(runner, 3, {0, 1, 2, 1});
});

using Maps = std::vector<std::vector<int>>;
Question maps(int devices, const Maps& each, const decltype(checks)::Cost& cost = {},
              const Situations& asked = {}) {
  return [=](CaseRunner& runner) {
    for (const auto& map : each) checks.ask(runner, problem_of(runner, devices, map), cost, asked);
  };
}

void fine_numbers(CaseRunner& runner) {
  for (const auto fine : {Problem::Fine::inputs, Problem::Fine::coefficients}) {
    Problem p = problem_of(runner, 2, {0, 1, 1});
    p.fine = fine;
    checks.ask(runner, p);
  }
}

// One layer, one device, and more layers than a byte or a word has bits.
Maps extreme_maps() {
  Maps all{{0}, {0, 0}, {}};
  for (int layer = 0; layer < 70; ++layer) all.back().push_back(layer / 2 % 2);
  return all;
}

}  // namespace

Exam exam() {
  return {
      {"one device with all layers", maps(1, {{0, 0, 0}, {0}})},
      {"layers in a row: 0, 1; 0, 0, 1; 0, 1, 2",
       in_turn(maps(2, {{0, 1}, {0, 0, 1}, {0, 1, 1, 1}}), maps(3, {{0, 1, 2}, {2, 1, 0}}),
               fine_numbers)},
      {"layers 0, 1, 0: a device whose layers are no neighbours",
       maps(2, {{0, 1, 0}, {1, 0, 1, 0}, {0, 1, 1, 0, 0, 1}})},
      {"any map on 2 to 8 and 13 devices, some of which have no layer; layers of many shapes",
       checks.on({2, 3, 4, 5, 6, 7, 8, 13}, with(&Problem::shapes, 3))},
      {"in a subgroup, devices are ranks of that subgroup",
       on_three.twice_in_a_subgroup(with(&Problem::device_of_layer, {1, 0, 2, 1}))},
      {"what is not finite in the batch shows in the loss and the gradients; zeros travel, too",
       on_three.odd_values()},
      of_fault("when a device is lost, the others throw CommError",
               on_three.lose_peers(3, 31, with(&Problem::device_of_layer, {0, 1, 2, 1, 0}))),
      of_cost(
          "activations go to the next layer's device, gradients come back, and nothing else "
          "travels",
          in_turn(maps(2, {{0, 1, 0}}, check_transfers),
                  maps(4, {{0, 0, 3, 3, 1}, {2, 1, 2, 0, 0, 2}}, check_transfers),
                  maps(2, extreme_maps(), check_transfers, {Situation::price_at_the_extremes}))),
      of_cost("a run takes the time of its layers and transfers, and no more",
              in_turn(maps(2, {{0, 1, 0}}, check_time),
                      maps(5, {{0, 1, 2, 3, 4}, {4, 4, 0, 2, 2}}, check_time))),
  };
}

}  // namespace lockstep::grader::split_model
