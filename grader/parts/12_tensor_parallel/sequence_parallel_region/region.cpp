#include "grader/parts/12_tensor_parallel/sequence_parallel_region/region.hpp"

#include "engine/base/units.hpp"

namespace lockstep::grader::sequence_parallel_region {
namespace {

class Sequences {
 public:
  Sequences(const Problem& p, const Layer& layer) : p_(p), layer_(layer) {}

  // Wholes as rank 0 has its pieces of them.
  LayerNumbers compute() const {
    LayerNumbers all;
    std::vector<OfRanks> of_parameters(layer_.parameters.size(), OfRanks(at(p_.ranks())));
    for (std::size_t pass = 0; pass < p_.passes(); ++pass) {
      const OfRanks x = pieces_of(layer_.input, layer_.inputs[pass]);
      const OfRanks dy = pieces_of(layer_.output_gradient, layer_.output_gradients[pass]);
      OfRanks y, dx;
      if (p_.options.asked == SequenceAsked::gather) {
        y = gathered(x);
        dx = scattered(dy);
      } else if (p_.options.asked == SequenceAsked::scatter) {
        y = scattered(x);
        dx = gathered(dy);
      } else {
        y = through_region(x, dy, dx, of_parameters);
      }
      all.outputs.push_back(whole_of(layer_.output, y, 0));
      all.input_gradients.push_back(whole_of(layer_.input_gradient, dx, 0));
    }
    if (p_.is_region()) sum_gradients(of_parameters);
    for (std::size_t i = 0; i < layer_.parameters.size(); ++i) {
      all.parameter_gradients.push_back(whole_of(layer_.parameters[i], of_parameters[i], 0));
    }
    return all;
  }

 private:
  OfRanks through_region(const OfRanks& x, const OfRanks& dy, OfRanks& dx,
                         std::vector<OfRanks>& of_parameters) const {
    const auto value = [&](RegionParameter of) {
      return pieces_of(layer_.parameters[index(of)], layer_.values[index(of)]);
    };
    const OfRanks gain = value(RegionParameter::gain), shift = value(RegionParameter::shift),
                  factors = value(RegionParameter::factors), bias = value(RegionParameter::bias);
    OfRanks slices = x;
    for (std::size_t r = 0; r < slices.size(); ++r) {
      multiply_rows(slices[r], gain[r]);
      add_to_rows(slices[r], shift[r]);
    }
    const OfRanks wholes = gathered(slices);
    OfRanks partial = wholes;
    for (std::size_t r = 0; r < partial.size(); ++r) multiply_rows(partial[r], factors[r]);
    OfRanks y = scattered(partial);
    for (std::size_t r = 0; r < y.size(); ++r) add_to_rows(y[r], bias[r]);

    OfRanks back = gathered(dy);
    for (std::size_t r = 0; r < back.size(); ++r) {
      add_products(of_parameters[index(RegionParameter::factors)][r], back[r], wholes[r]);
      multiply_rows(back[r], factors[r]);
    }
    dx = scattered(back);
    for (std::size_t r = 0; r < dx.size(); ++r) {
      add_products(of_parameters[index(RegionParameter::gain)][r], dx[r], x[r]);
      add_numbers(of_parameters[index(RegionParameter::shift)][r], added_rows(p_.width, dx[r]));
      add_numbers(of_parameters[index(RegionParameter::bias)][r], added_rows(p_.width, dy[r]));
      multiply_rows(dx[r], gain[r]);
    }
    return y;
  }

  static std::size_t index(RegionParameter of) { return static_cast<std::size_t>(of); }
  static void multiply_rows(Numbers& matrix, const Numbers& row) {
    for (std::size_t e = 0; e < matrix.size(); ++e) matrix[e] *= row[e % row.size()];
  }
  void add_products(Numbers& sum, const Numbers& a, Numbers b) const {
    for (std::size_t e = 0; e < b.size(); ++e) b[e] *= a[e];
    add_numbers(sum, added_rows(p_.width, b));
  }

  // The element of the whole tensor that is element e of a rank's slice.
  std::size_t place(int rank, std::size_t e) const {
    const auto own = at(p_.slice * p_.width), all = at(p_.tokens() * p_.width);
    return e / own * all + at(rank) * own + e % own;
  }
  OfRanks gathered(const OfRanks& slices) const {
    Numbers whole(at(p_.batch * p_.tokens() * p_.width));
    for (int from = 0; from < p_.ranks(); ++from) {
      for (std::size_t e = 0; e < slices[at(from)].size(); ++e) {
        whole[place(from, e)] = slices[at(from)][e];
      }
    }
    return OfRanks(at(p_.ranks()), whole);
  }
  OfRanks scattered(const OfRanks& partial) const {
    Numbers sum;
    for (const Numbers& one : partial) add_numbers(sum, one);
    OfRanks all;
    for (int rank = 0; rank < p_.ranks(); ++rank) {
      Numbers& slice = all.emplace_back(at(p_.batch * p_.slice * p_.width));
      for (std::size_t e = 0; e < slice.size(); ++e) slice[e] = sum[place(rank, e)];
    }
    return all;
  }
  // A parameter without a grad adds zeros.
  void sum_gradients(std::vector<OfRanks>& grads) const {
    for (const RegionParameter one : summed_parameters) {
      OfRanks& of_ranks = grads[index(one)];
      Numbers sum(at(p_.width));
      for (int rank = 0; rank < p_.ranks(); ++rank) {
        if (!p_.options.forgets(one, rank)) add_numbers(sum, of_ranks[at(rank)]);
      }
      of_ranks.assign(of_ranks.size(), sum);
    }
  }

  const Problem& p_;
  const Layer& layer_;
};

}  // namespace

std::int64_t Problem::whole_bytes() const {
  return batch * tokens() * width * static_cast<std::int64_t>(bytes_of(dtype));
}

std::string Problem::description() const {
  static const char* const forgotten[] = {"", ", the gain has no grad on odd ranks",
                                          ", the bias has no grad on odd ranks",
                                          ", no parameter of odd ranks has a grad",
                                          ", no parameter of odd ranks has a grad, and each is "
                                          "summed alone"};
  const std::string what = options.asked == SequenceAsked::gather    ? "gather_sequence"
                           : options.asked == SequenceAsked::scatter ? "scatter_sum_sequence"
                                                                     : "a region";
  return text(what, ", ", in_words(), ", ", counted(batch, "sample"), " of ", tokens(),
              " tokens, width ", width, options.keeps_slice ? ", the slice is kept" : "",
              forgotten[at(static_cast<std::int64_t>(options.forgotten))],
              dimensions == 2 ? ", without an axis of samples" : "");
}

Layer layer_of(const Problem& p, std::uint64_t salt) {
  const int n = p.ranks();
  const Axes whole{p.batch, p.tokens(), p.width}, row{p.width};
  const bool gathers = p.options.asked == SequenceAsked::gather,
             scatters = p.options.asked == SequenceAsked::scatter;
  const auto slices = [&](const char* name) {
    return p.tokens_too_many > 0 ? held_by_all(name, whole, n) : cut_along(name, whole, 1, n);
  };
  Layer layer;
  layer.input = scatters ? own_of_each("the term", whole, n) : slices("x");
  layer.output = gathers ? held_by_all("the output", whole, n) : slices("the output");
  layer.output_gradient = gathers ? own_of_each("the gradient that arrives", whole, n)
                                  : slices("the gradient that arrives");
  layer.input_gradient =
      scatters ? held_by_all("the gradient of the term", whole, n) : slices("the gradient of x");
  if (p.is_region()) {
    layer.parameters = {held_by_all("the gain", row, n), held_by_all("the shift", row, n),
                        own_of_each("the factors", row, n), held_by_all("the bias", row, n)};
    for (const RegionParameter one : summed_parameters) {
      auto& unused = layer.parameters[at(static_cast<std::int64_t>(one))].unused;
      for (int rank = 0; rank < n; ++rank) {
        unused.emplace_back(p.options.forgets(one, rank)
                                ? "it had none before, and sum_slice_gradients made none; such a "
                                  "parameter adds zeros, and its grad becomes the sum"
                                : "");
      }
    }
  }
  if (p.dimensions == 2) layer.input = held_by_all("x", {p.slice, p.width}, n);
  layer.options = p.options.listed();
  draw_layer(p, salt, layer);
  if (p.walk == LayerWalk::refused) return layer;  // nobody computes it
  layer.right = Sequences(p, layer).compute();
  return layer;
}

}  // namespace lockstep::grader::sequence_parallel_region
