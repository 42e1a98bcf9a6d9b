#include "grader/parts/12_tensor_parallel/sequence_parallel_region/region.hpp"

#include "engine/base/units.hpp"

namespace lockstep::grader::sequence_parallel_region {
namespace {

// The slices of all ranks as one tensor: sample after sample; or as they come, rank after rank; or
// a rank's own in its place, and zeros.
enum class Joined : std::uint8_t { by_sample, by_rank, own };
enum class Added : std::uint8_t { all, own, mean };
// A rank's slice: of each sample; the rank's part of all elements; the first one, on every rank.
enum class Cut : std::uint8_t { by_sample, by_rank, first };

struct Ways {
  Joined gathers = Joined::by_sample;
  Added gather_adds = Added::all;  // backward
  Cut gather_cuts = Cut::by_sample;
  Added scatter_adds = Added::all;
  Cut scatter_cuts = Cut::by_sample;
  Joined scatter_gathers = Joined::by_sample;  // backward
  double scatter_factor = 1;
  Added gradients = Added::all;
  bool closes_gaps = false;  // where a grad is missing, those behind it take its place
};

class Sequences {
 public:
  Sequences(const Problem& p, const Layer& layer) : p_(p), layer_(layer) {}

  // Wholes as `rank` has its pieces of them.
  LayerNumbers compute(const Ways& ways, int rank) const {
    LayerNumbers all;
    std::vector<OfRanks> of_parameters(layer_.parameters.size(), OfRanks(at(p_.ranks())));
    for (std::size_t pass = 0; pass < p_.passes(); ++pass) {
      const OfRanks x = pieces_of(layer_.input, layer_.inputs[pass]);
      const OfRanks dy = pieces_of(layer_.output_gradient, layer_.output_gradients[pass]);
      OfRanks y, dx;
      if (p_.options.asked == SequenceAsked::gather) {
        y = gathered(x, ways.gathers);
        dx = scattered(dy, ways.gather_adds, ways.gather_cuts);
      } else if (p_.options.asked == SequenceAsked::scatter) {
        y = scattered(x, ways.scatter_adds, ways.scatter_cuts);
        dx = gathered(dy, ways.scatter_gathers, ways.scatter_factor);
      } else {
        y = through_region(ways, x, dy, dx, of_parameters);
      }
      all.outputs.push_back(whole_of(layer_.output, y, rank));
      all.input_gradients.push_back(whole_of(layer_.input_gradient, dx, rank));
    }
    if (p_.is_region()) sum_gradients(ways, of_parameters);
    for (std::size_t i = 0; i < layer_.parameters.size(); ++i) {
      all.parameter_gradients.push_back(whole_of(layer_.parameters[i], of_parameters[i], rank));
    }
    return all;
  }

 private:
  OfRanks through_region(const Ways& ways, const OfRanks& x, const OfRanks& dy, OfRanks& dx,
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
    const OfRanks wholes = gathered(slices, ways.gathers);
    OfRanks partial = wholes;
    for (std::size_t r = 0; r < partial.size(); ++r) multiply_rows(partial[r], factors[r]);
    OfRanks y = scattered(partial, ways.scatter_adds, ways.scatter_cuts);
    for (std::size_t r = 0; r < y.size(); ++r) add_to_rows(y[r], bias[r]);

    OfRanks back = gathered(dy, ways.scatter_gathers, ways.scatter_factor);
    for (std::size_t r = 0; r < back.size(); ++r) {
      add_products(of_parameters[index(RegionParameter::factors)][r], back[r], wholes[r]);
      multiply_rows(back[r], factors[r]);
    }
    dx = scattered(back, ways.gather_adds, ways.gather_cuts);
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
  std::size_t place(Cut cut, int rank, std::size_t e) const {
    const auto own = at(p_.slice * p_.width), all = at(p_.tokens() * p_.width);
    if (cut == Cut::by_rank) return at(rank) * at(p_.batch) * own + e;
    const std::size_t first = cut == Cut::first ? 0 : at(rank) * own;
    return e / own * all + first + e % own;
  }
  OfRanks gathered(const OfRanks& slices, Joined joined, double factor = 1) const {
    OfRanks all;
    for (int rank = 0; rank < p_.ranks(); ++rank) {
      Numbers& whole = all.emplace_back(at(p_.batch * p_.tokens() * p_.width));
      for (int from = 0; from < p_.ranks(); ++from) {
        if (joined == Joined::own && from != rank) continue;
        const Cut cut = joined == Joined::by_rank ? Cut::by_rank : Cut::by_sample;
        for (std::size_t e = 0; e < slices[at(from)].size(); ++e) {
          whole[place(cut, from, e)] = factor * slices[at(from)][e];
        }
      }
    }
    return all;
  }
  OfRanks scattered(const OfRanks& partial, Added added, Cut cut) const {
    OfRanks all;
    for (int rank = 0; rank < p_.ranks(); ++rank) {
      Numbers sum = added == Added::own ? partial[at(rank)] : Numbers();
      for (const Numbers& one : partial) {
        if (added != Added::own) add_numbers(sum, one);
      }
      Numbers& slice = all.emplace_back(at(p_.batch * p_.slice * p_.width));
      const double factor = added == Added::mean ? 1.0 / p_.ranks() : 1;
      for (std::size_t e = 0; e < slice.size(); ++e) slice[e] = factor * sum[place(cut, rank, e)];
    }
    return all;
  }
  // The terms that a rank adds to the sums of summed_parameters, in their order.
  std::vector<Numbers> added_by(const Ways& ways, const std::vector<OfRanks>& grads,
                                int rank) const {
    std::vector<Numbers> all;
    for (const RegionParameter one : summed_parameters) {
      if (!p_.options.forgets(one, rank)) {
        all.push_back(grads[index(one)][at(rank)]);
      } else if (!ways.closes_gaps) {
        all.emplace_back(at(p_.width));
      }
    }
    all.resize(std::size(summed_parameters), Numbers(at(p_.width)));
    return all;
  }
  void sum_gradients(const Ways& ways, std::vector<OfRanks>& grads) const {
    std::vector<std::vector<Numbers>> added;
    for (int rank = 0; rank < p_.ranks(); ++rank) added.push_back(added_by(ways, grads, rank));
    for (std::size_t k = 0; k < std::size(summed_parameters); ++k) {
      OfRanks& of_ranks = grads[index(summed_parameters[k])];
      Numbers sum;
      for (const auto& one : added) add_numbers(sum, one[k]);
      if (ways.gradients == Added::mean) sum = scaled_numbers(sum, 1.0 / p_.ranks());
      for (std::size_t r = 0; r < of_ranks.size(); ++r) {
        of_ranks[r] = ways.gradients == Added::own ? added[r][k] : sum;
      }
    }
  }

  const Problem& p_;
  const Layer& layer_;
};

std::vector<Mistake<LayerNumbers>> mistakes_of(const Problem& p, const Layer& layer, int rank) {
  std::vector<Mistake<LayerNumbers>> all;
  const auto add = [&](const std::string& name, const std::string& sentence, const Ways& ways) {
    all.push_back({{name, sentence}, Sequences(p, layer).compute(ways, rank)});
  };
  // First, since a mean of what arrives gives a parameter the same gradient.
  add("gradients_not_summed",
      "this is the gradient of the rank's own tokens; the parameter is used on all ranks' slices, "
      "and sum_slice_gradients adds up what they have",
      {.gradients = Added::own});
  add("gradients_averaged",
      "the gradients of the slices are averaged; the tokens are those of one loss, and their "
      "gradients are summed",
      {.gradients = Added::mean});
  add("grads_moved",
      "a parameter without a grad has its place among the sums, too; where it is left out, the "
      "grads behind it are added to those of other parameters",
      {.closes_gaps = true});
  const std::string by_rank =
      "slices lie rank after rank, as an all-gather brings them and a reduce-scatter wants them; "
      "in a batch, the slices of one sample stand together";
  add("rank_after_rank", by_rank, {.gathers = Joined::by_rank});
  add("rank_after_rank", by_rank, {.gather_cuts = Cut::by_rank});
  add("rank_after_rank", by_rank, {.scatter_cuts = Cut::by_rank});
  add("rank_after_rank", by_rank, {.scatter_gathers = Joined::by_rank});
  add("rank_after_rank", by_rank,
      {Joined::by_rank, Added::all, Cut::by_rank, Added::all, Cut::by_rank, Joined::by_rank});
  add("gather_not_summed",
      "this rank's own gradient comes out of gather_sequence. Every rank used all slices, so the "
      "gradient of a slice is a sum over the ranks",
      {.gather_adds = Added::own});
  add("scatter_not_summed",
      "the slice is that of this rank's own term; all ranks have terms of it, and they are summed",
      {.scatter_adds = Added::own});
  add("not_gathered",
      "other ranks' slices are missing in the gradient of a term; every term is in all slices, so "
      "the gradients of all slices come together",
      {.scatter_gathers = Joined::own});
  add("first_slice", "every rank has the slice of rank 0", {.gather_cuts = Cut::first});
  add("first_slice", "every rank has the slice of rank 0", {.scatter_cuts = Cut::first});
  add("averaged", "the ranks' gradients are averaged; they are summed, each is a part of one",
      {.gather_adds = Added::mean});
  add("averaged", "the ranks' terms are averaged; they are summed, each is a part of one result",
      {.scatter_adds = Added::mean});
  add("summed_again",
      "the gradient of a term is summed over the ranks on its way back. Each rank's slice comes "
      "once",
      {.scatter_factor = static_cast<double>(p.ranks())});
  return all;
}

}  // namespace

std::int64_t Problem::whole_bytes() const {
  return batch * tokens() * width * fill * static_cast<std::int64_t>(bytes_of(dtype));
}

std::string Problem::description() const {
  static const char* const forgotten[] = {"", ", the gain has no grad on odd ranks",
                                          ", the bias has no grad on odd ranks",
                                          ", no parameter of odd ranks has a grad"};
  const std::string what = options.asked == SequenceAsked::gather    ? "gather_sequence"
                           : options.asked == SequenceAsked::scatter ? "scatter_sum_sequence"
                                                                     : "a region";
  return text(what, ", ", in_words(), ", ", counted(batch, "sample"), " of ", tokens(),
              " tokens, width ", width * fill, options.keeps_slice ? ", the slice is kept" : "",
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
  if (p.fill > 1) {
    for (LayerPart* part :
         {&layer.input, &layer.output, &layer.output_gradient, &layer.input_gradient}) {
      part->fill = {1, 1, p.fill};
    }
    for (LayerPart& parameter : layer.parameters) parameter.fill = {p.fill};
  }
  layer.options = p.options.listed();
  draw_layer(p, salt, layer);
  if (p.walk == LayerWalk::refused) return layer;  // nobody computes it
  layer.right = Sequences(p, layer).compute({}, 0);
  layer.mistakes = [p, copy = layer](int rank) { return mistakes_of(p, copy, rank); };
  return layer;
}

}  // namespace lockstep::grader::sequence_parallel_region
