#include "grader/exam/layer/exam.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader {
namespace {

std::int64_t product(const Axes& sizes, std::size_t from, std::size_t to) {
  std::int64_t all = 1;
  for (std::size_t axis = from; axis < to; ++axis) all *= sizes[axis];
  return all;
}

LayerTensor tensor_of(const LayerPart& part, int rank) {
  return {part.shapes[static_cast<std::size_t>(rank)], {}};
}
LayerTensor tensor_of(const LayerPart& part, int rank, DType dtype, const Numbers& whole) {
  LayerTensor tensor = tensor_of(part, rank);
  tensor.values = to_bytes(dtype, part.deal.piece(rank, whole));
  return tensor;
}

std::string words_of(Odd odd, LayerProblem::Where where) {
  const std::string of = where == LayerProblem::Where::input ? "input" : "gradient of the output";
  if (odd == Odd::not_a_number) return text(", a NaN in the ", of);
  if (odd == Odd::infinity) return text(", an infinity in the ", of);
  return odd == Odd::zeros ? text(", the ", of, " is zeros") : std::string();
}

}  // namespace

LayerPart held_by_all(const std::string& name, const Axes& shape, int ranks) {
  const std::int64_t count = product(shape, 0, shape.size());
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const auto members = static_cast<std::size_t>(ranks);
  return {name, Dealt({{name, count}}, std::vector(members, all)), std::vector(members, shape),
          count};
}

LayerPart cut_along(const std::string& name, const Axes& shape, std::size_t axis, int ranks) {
  const std::int64_t count = product(shape, 0, shape.size()), length = shape.at(axis);
  if (length % ranks != 0) throw Error(text("axis ", axis, " of ", name, " has no equal ranges"));
  const std::int64_t before = product(shape, 0, axis), mine = length / ranks,
                     below = product(shape, axis + 1, shape.size());
  LayerPart part{name, Dealt({}, {}), {}, count};
  std::vector<std::vector<std::int64_t>> places;
  for (int rank = 0; rank < ranks; ++rank) {
    auto& of_rank = places.emplace_back();
    for (std::int64_t row = 0; row < before; ++row) {
      const std::int64_t first = (row * length + rank * mine) * below;
      for (std::int64_t e = 0; e < mine * below; ++e) of_rank.push_back(first + e);
    }
    part.shapes.push_back(shape);
    part.shapes.back()[axis] = mine;
  }
  part.deal = Dealt({{name, count}}, std::move(places));
  return part;
}

LayerPart own_of_each(const std::string& name, const Axes& shape, int ranks) {
  Axes all{ranks};
  all.insert(all.end(), shape.begin(), shape.end());
  LayerPart part = cut_along(name, all, 0, ranks);
  part.shapes.assign(static_cast<std::size_t>(ranks), shape);
  return part;
}

OfRanks pieces_of(const LayerPart& part, const Numbers& whole) {
  OfRanks all;
  for (int rank = 0; std::cmp_less(rank, part.shapes.size()); ++rank) {
    all.push_back(part.deal.piece(rank, whole));
  }
  return all;
}

Numbers whole_of(const LayerPart& part, const OfRanks& pieces, int rank) {
  Numbers whole(static_cast<std::size_t>(part.count));
  const auto put = [&](int of) {
    const auto places = part.deal.places(of);
    const Numbers& piece = pieces[static_cast<std::size_t>(of)];
    for (std::size_t e = 0; e < places.size(); ++e) {
      whole[static_cast<std::size_t>(places[e])] = piece[e];
    }
  };
  for (int other = 0; std::cmp_less(other, pieces.size()); ++other) put(other);
  put(rank);
  return whole;
}

std::string LayerProblem::in_words() const {
  return text(members.description(), ", ", lockstep::name_of(dtype),
              passes() > 1 ? text(", ", passes(), " passes") : "",
              walk == LayerWalk::in_halves   ? ", backward in two halves"
              : walk == LayerWalk::inference ? ", forward only"
              : walk == LayerWalk::forward   ? ", recorded and not walked back"
                                             : "",
              input == LayerInput::constant ? ", the input is a constant" : "",
              frozen == LayerFrozen::last  ? ", the last parameter is a constant"
              : frozen == LayerFrozen::all ? ", all parameters are constants"
                                           : "",
              words_of(odd, odd_in));
}

Numbers drawn_numbers(DType dtype, std::uint64_t salt, std::uint64_t stream, std::int64_t count) {
  const std::uint64_t key = keyed_bits(salt, 40'000 + stream);
  Numbers all(static_cast<std::size_t>(count));
  std::uint64_t e = 0;
  for (double& value : all) {
    if (dtype == DType::float64) {
      value = 2 * keyed_uniform(key, e++) - 1;
      continue;
    }
    constexpr double whole[] = {-2, -1, 1, 2};
    value = whole[keyed_bits(key, e++) % 4];
  }
  return all;
}

void draw_layer(const LayerProblem& p, std::uint64_t salt, Layer& layer) {
  const auto draw = [&](std::uint64_t stream, const LayerPart& part) {
    return drawn_numbers(p.dtype, salt, stream, part.count);
  };
  for (std::uint64_t pass = 0; pass < p.passes(); ++pass) {
    layer.inputs.push_back(draw(2 * pass, layer.input));
    layer.output_gradients.push_back(draw(2 * pass + 1, layer.output_gradient));
    const bool of_input = p.odd_in == LayerProblem::Where::input;
    make_odd(of_input ? layer.inputs.back() : layer.output_gradients.back(), p.odd);
    if (!layer.weights_come_late || p.walk != LayerWalk::in_halves) continue;
    layer.late_inputs.push_back(draw(500 + pass, layer.input));
  }
  for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
    layer.values.push_back(draw(1000 + i, layer.parameters[i]));
  }
}

LayerCase layer_case(const LayerProblem& p, const Layer& layer, int rank) {
  LayerCase one{.dtype = p.dtype, .walk = p.walk, .input = p.input, .frozen = p.frozen};
  for (std::size_t pass = 0; pass < p.passes(); ++pass) {
    one.inputs.push_back(tensor_of(layer.input, rank, p.dtype, layer.inputs[pass]));
    one.gradients.push_back(tensor_of(layer.output_gradient, rank));
    one.outputs.push_back(tensor_of(layer.output, rank));
  }
  for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
    one.parameters.push_back(tensor_of(layer.parameters[i], rank, p.dtype, layer.values[i]));
  }
  if (p.trains()) one.back = p.back;
  one.options = layer.options;
  return one;
}

LayerService::LayerService(const LayerProblem& p, Layer layer, MomentService::ReadMemory read)
    : p_(p),
      layer_(std::move(layer)),
      read_(std::move(read)),
      seen_(static_cast<std::size_t>(p.ranks())) {}

std::optional<sim::Service::Answer> LayerService::answer(const sim::Actor& who, LayerCall call,
                                                         double now) {
  const int rank = p_.members.group_rank(who.rank);
  if (rank >= p_.ranks()) throw Error(text("rank ", who.rank, " is no member"));
  Seen& seen = seen_[static_cast<std::size_t>(rank)];
  if (call.held_bytes < 0) throw Error("tensors of less than no bytes");
  const bool forward = call.kind == LayerCall::Kind::forward;
  MemberMemory& memory = forward ? seen.forward : seen.backward;
  memory.told_bytes = std::max(memory.told_bytes, call.held_bytes);
  if (const auto bytes = read_(who.rank)) {
    memory.process_bytes = std::max(memory.process_bytes.value_or(0), *bytes);
  }
  const std::size_t pass = call.pass;
  if (!forward) {
    const bool there = seen.outputs.size() == p_.passes() && seen.back < p_.passes() &&
                       p_.trains() && p_.back[seen.back] == pass;
    if (!there) throw Error("passes come in their order");
    if (call.kind == LayerCall::Kind::half) {
      return answer_with(
          LayerAnswer{{},
                      to_bytes(p_.dtype, layer_.input.deal.piece(rank, layer_.last_input(pass)))},
          now);
    }
    ++seen.back;
    return Answer{{}, now};
  }
  if (pass != seen.outputs.size() || pass >= p_.passes()) throw Error("passes come in their order");
  seen.outputs.push_back(std::move(call));
  if (!p_.trains()) return answer_with(LayerAnswer{}, now);
  const Numbers& whole = layer_.output_gradients[pass];
  return answer_with(
      LayerAnswer{to_bytes(p_.dtype, layer_.output_gradient.deal.piece(rank, whole))}, now);
}

void check_layer_price(CaseRunner& runner, const Played& played, const LayerProblem& p,
                       const LayerPrice& price) {
  const bool back = p.trains();
  const auto passes = static_cast<std::int64_t>(p.passes());
  std::string words = price.forward_words;
  if (back && !price.backward_words.empty()) {
    words += text(words.empty() ? "" : ", and ", price.backward_words);
  }
  if (words.empty()) words = "a rank that computes by itself";
  if (passes > 1) words += text(", in each of ", passes, " passes,");
  const double each = price.forward + (back ? price.backward : 0);
  check_wire(
      runner, played,
      {.enough = static_cast<double>(passes) * each, .of_what = words, .mistakes = price.mistakes});
  check_wire_least(runner, played, static_cast<double>(passes) * (each - price.unneeded), words,
                   {"too_few_bytes",
                    "what the contract sends stays at home: a rank computes for itself what it "
                    "should have from another"});
  const int collectives = price.forward_collectives + (back ? price.backward_collectives : 0);
  check_operations(runner, played, {.collectives = passes * collectives, .allowed = words});
}

void ask_of_layer(const LayerProblem& p, const Layer& layer, int rank, Situations& asked) {
  for (std::size_t pass = 0; pass < p.passes(); ++pass) {
    ask_of_values(layer.input.deal.piece(rank, layer.inputs[pass]), asked);
    if (!p.trains()) continue;
    ask_of_values(layer.output_gradient.deal.piece(rank, layer.output_gradients[pass]), asked);
  }
  if (p.dtype == DType::float64) asked.insert(Situation::double_digits);
  if (p.dtype == DType::bfloat16) asked.insert(Situation::every_dtype);
}

}  // namespace lockstep::grader
