#include "grader/parts/15_sequence_parallel/ulysses_attention/problem.hpp"

#include <algorithm>
#include <limits>

#include "engine/base/units.hpp"

namespace lockstep::grader::ulysses_attention {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

LayerPart by_tokens(const std::string& name, const Problem& p, std::int64_t columns) {
  const std::vector<Positions> slices = p.slices();
  LayerPart part{name, dealt_by_tokens(name, slices, p.batch, columns, 0, columns), {}, 0};
  part.count = p.batch * p.tokens * columns;
  for (const Positions& slice : slices) part.shapes.push_back({p.batch, slice.count(), columns});
  return part;
}

// The packed columns as they are, or exchanged: queries, keys and values of a rank's heads are
// taken from its N-th of all 3·C columns.
enum class Packed : std::uint8_t { by_kind, by_rank };
Numbers unpacked(const Problem& p, const Numbers& qkv, Packed packed) {
  if (packed == Packed::by_kind) return qkv;
  const std::int64_t width = p.width(), own = width / p.ranks();
  Numbers all(qkv.size());
  for (std::size_t e = 0; e < qkv.size(); ++e) {
    const auto column = static_cast<std::int64_t>(e) % (3 * width);
    const std::int64_t kind = column / width, rank = column % width / own, i = column % own;
    all[e] = qkv[e - at(column) + at(rank * 3 * own + kind * own + i)];
  }
  return all;
}

// The order of tokens in attention: right, as they come (all samples of rank 0 first, and taken
// apart again behind it or not), or the last rank's slice of each sample first.
enum class Tokens : std::uint8_t { in_order, as_they_come, there_and_back, turned };
std::vector<std::size_t> order_of(const Problem& p, Tokens order) {
  std::vector<std::size_t> from;
  const auto add = [&](std::int64_t sample, const Positions& slice) {
    for (std::int64_t i = 0; i < slice.count(); ++i) {
      from.push_back(at(sample * p.tokens + slice.of(i)));
    }
  };
  std::vector<Positions> slices = p.slices();
  if (order == Tokens::turned) {
    std::ranges::reverse(slices);
    for (std::int64_t sample = 0; sample < p.batch; ++sample) {
      for (const Positions& slice : slices) add(sample, slice);
    }
    return from;
  }
  for (const Positions& slice : slices) {
    for (std::int64_t sample = 0; sample < p.batch; ++sample) add(sample, slice);
  }
  return from;
}
std::vector<std::size_t> inverse(const std::vector<std::size_t>& from) {
  std::vector<std::size_t> to(from.size());
  for (std::size_t place = 0; place < from.size(); ++place) to[from[place]] = place;
  return to;
}
Numbers moved(const Numbers& tokens, const std::vector<std::size_t>& from) {
  const std::size_t columns = tokens.size() / from.size();
  Numbers all;
  for (const std::size_t token : from) {
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(token * columns);
    all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(columns));
  }
  return all;
}

struct Ways {
  Sees sees = is_no_later;
  Packed packed = Packed::by_kind;
  Tokens tokens = Tokens::in_order;
  std::int64_t heads_times = 1;  // a rank divides its columns among so many times its heads
  bool heads_turned = false;     // outputs of the first heads lie behind those of the last ones
  double back_times = 1;         // of the gradient
};

LayerNumbers computed(const Problem& p, const Layer& layer, const Ways& ways) {
  const DenseAttention attention(
      {p.batch, p.tokens, p.heads * ways.heads_times, p.head_size / ways.heads_times}, ways.sees);
  LayerNumbers all;
  for (std::size_t pass = 0; pass < p.passes(); ++pass) {
    Numbers qkv = unpacked(p, layer.inputs[pass], ways.packed);
    const auto order = order_of(p, ways.tokens);
    if (ways.tokens != Tokens::in_order) qkv = moved(qkv, order);
    Numbers output = attention.forward(qkv);
    if (ways.tokens == Tokens::there_and_back) output = moved(output, inverse(order));
    if (ways.heads_turned) {
      const std::int64_t width = p.width(), own = width / p.ranks();
      const Numbers right = output;
      for (std::size_t e = 0; e < output.size(); ++e) {
        const auto column = static_cast<std::int64_t>(e) % width;
        const std::int64_t rank = p.ranks() - 1 - column / own;
        output[e] = right[e - at(column) + at(rank * own + column % own)];
      }
    }
    all.outputs.push_back(std::move(output));
    all.input_gradients.push_back(
        scaled_numbers(attention.backward(qkv, layer.output_gradients[pass]), ways.back_times));
  }
  return all;
}

std::vector<Mistake<LayerNumbers>> mistakes_of(const Problem& p, const Layer& layer) {
  std::vector<Mistake<LayerNumbers>> all;
  const auto add = [&](const std::string& name, const std::string& sentence, const Ways& ways) {
    all.push_back({{name, sentence}, computed(p, layer, ways)});
  };
  const auto places = places_of_tokens(p.slices());
  add("own_tokens", "this is attention to the rank's own tokens alone: nothing was exchanged",
      {.sees = [places](std::int64_t query, std::int64_t key) {
        return key <= query && places[at(key)].rank == places[at(query)].rank;
      }});
  add("local_positions",
      "tokens are masked by their places in the slices; after the exchange, a rank has whole "
      "samples, whose tokens stand in their order",
      {.sees = [places](std::int64_t query, std::int64_t key) {
        return places[at(key)].index <= places[at(query)].index;
      }});
  add("thirds_of_a_share",
      "a rank took the N-th part of all 3·C columns for its queries, keys and values; its heads "
      "have columns among the queries, among the keys and among the values",
      {.packed = Packed::by_rank});
  if (p.ranks() > 1 && p.head_size % p.ranks() == 0) {
    add("heads_of_all",
        "the rank's columns are divided among the heads of all ranks; it has whole heads, heads / "
        "N "
        "of them",
        {.heads_times = p.ranks()});
  }
  for (const Tokens tokens : {Tokens::as_they_come, Tokens::there_and_back}) {
    if (p.batch == 1) break;
    add("samples_mixed",
        "the tokens of several samples are mixed: all samples of rank 0 come first, then all of "
        "rank "
        "1. Put the slices of one sample one behind the other, before attention, and take them "
        "apart "
        "behind it",
        {.tokens = tokens});
  }
  add("slices_turned",
      "the ranks' slices of a sample stand in the opposite order; that of rank 0 comes first",
      {.tokens = Tokens::turned});
  add("heads_turned", "the heads lie in another order: rank r's come at r·C/N",
      {.heads_turned = true});
  add("gradient_summed",
      "the gradient is as many times as large as there are ranks: they attend to one sample, and "
      "nothing is summed over them",
      {.back_times = static_cast<double>(p.ranks())});
  add("gradient_averaged",
      "the gradient is divided by the number of ranks; each rank has its own tokens' gradient",
      {.back_times = 1.0 / p.ranks()});
  return all;
}

// Shapes that do not fit. What they hold does not matter.
void misfit(const Problem& p, Layer& layer) {
  const std::int64_t own = p.slices().front().count(), columns = 3 * p.width();
  Axes shape{p.batch, own, columns};
  if (p.misfit == Misfit::few) shape[1] = 1;
  if (p.misfit == Misfit::slice) ++shape[1];
  if (p.misfit == Misfit::columns) ++shape[2];
  layer.input = own_of_each("qkv", shape, p.ranks());
}

}  // namespace

std::string Problem::description() const {
  static const char* const misfits[] = {
      "", ", ranks do not divide the heads", ", fewer tokens than ranks",
      ", a token more than a slice has", ", a column more than queries, keys and values have"};
  return text(in_words(), ", ", counted(batch, "sample"), " of ", counted(tokens, "token"), ", ",
              counted(heads, "head"), " of size ", head_size,
              misfits[static_cast<std::size_t>(misfit)]);
}

Layer layer_of(const Problem& p, std::uint64_t salt) {
  const std::int64_t width = p.width();
  Layer layer;
  layer.input = by_tokens("qkv", p, 3 * width);
  layer.output = by_tokens("the output", p, width);
  layer.output_gradient = by_tokens("the gradient that arrives", p, width);
  layer.input_gradient = by_tokens("the gradient of qkv", p, 3 * width);
  layer.options = {p.heads, p.tokens};
  if (p.misfit != Misfit::nothing) misfit(p, layer);
  Problem plain = p;
  if (p.odd_in == LayerProblem::Where::input) plain.odd = Odd::none;
  draw_layer(plain, salt, layer);
  if (p.dtype != DType::float64) {  // small numbers keep the rounding inside a softmax small
    for (Numbers& one : layer.inputs) one = scaled_numbers(one, 0.125);
  }
  if (p.misfit != Misfit::nothing) return layer;
  if (p.odd_in == LayerProblem::Where::input && p.odd != Odd::none) {
    // In a value of the token in the middle: scores stay numbers.
    for (Numbers& one : layer.inputs) {
      double& value = one[at((p.tokens / 2) * 3 * width + 2 * width)];
      if (p.odd == Odd::not_a_number) value = std::numeric_limits<double>::quiet_NaN();
      if (p.odd == Odd::infinity) value = std::numeric_limits<double>::infinity();
      if (p.odd == Odd::zeros) one.assign(one.size(), 0);
    }
  }
  layer.right = computed(p, layer, {});
  layer.mistakes = [p, copy = layer](int) { return mistakes_of(p, copy); };
  return layer;
}

}  // namespace lockstep::grader::ulysses_attention
