#include "grader/parts/11_sharding/zero_1_optimizer/oracle.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/training_tolerance.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::zero_1_optimizer {
namespace {

using Numbers = std::vector<double>;

// Whole parameters, the largest first, to the rank that has the least: PyTorch's way.
zero::FlatShards whole_parameters(const std::vector<std::int64_t>& sizes, int ranks) {
  zero::FlatShards plan;
  plan.ranks.resize(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> filled(plan.ranks.size());
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](auto a, auto b) { return sizes[a] > sizes[b]; });
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(filled);
    plan.ranks[static_cast<std::size_t>(least - filled.begin())].push_back(
        {i, 0, sizes[i], *least});
    *least += sizes[i];
    plan.count += sizes[i];
  }
  plan.shard = *std::ranges::max_element(filled);
  return plan;
}

// A number for element e of the model, from -1 to 1.
double drawn(std::uint64_t salt, std::uint64_t stream, std::size_t e) {
  return 2 * keyed_uniform(keyed_bits(salt, 40'000 + stream), e) - 1;
}

Numbers rounded(DType dtype, Numbers values) { return as_doubles(dtype, to_bytes(dtype, values)); }

Numbers drawn_all(const Problem& p, std::uint64_t salt, std::uint64_t stream, double plus) {
  Numbers all(static_cast<std::size_t>(p.plan().count));
  for (std::size_t e = 0; e < all.size(); ++e) all[e] = plus + drawn(salt, stream, e);
  return rounded(p.dtype, all);
}
Numbers first_values(const Problem& p, std::uint64_t salt) { return drawn_all(p, salt, 0, 0); }

bool has_gradient(const Problem& p, std::size_t i, int rank) {
  return !p.missing || !((i % 3 == 0 && rank % 2 == 0) || i == 1);
}

std::uint64_t salt_of_step(std::uint64_t salt, int step) {
  return keyed_bits(salt, 50'000 + static_cast<std::uint64_t>(step));
}

// The mean gradients of all parameters in one step, as they are updated with.
Numbers gradient_in(const Problem& p, std::uint64_t salt, int step) {
  Numbers sum(static_cast<std::size_t>(p.plan().count));
  for (int r = 0; r < p.ranks(); ++r) {
    std::size_t e = 0;
    for (std::size_t i = 0; i < p.sizes.size(); ++i) {
      for (const double value : drawn_gradient(p.gradients(), salt_of_step(salt, step), r, i)) {
        sum[e++] += has_gradient(p, i, r) ? value * (1.0 / p.ranks()) : 0;
      }
    }
  }
  if (p.softens()) std::ranges::transform(rounded(p.dtype, sum), sum.begin(), softened);
  return sum;
}

// The model in numbers of the problem's type, on one device.
class OneDevice {
 public:
  OneDevice(const Problem& p, std::uint64_t salt)
      : p_(p),
        value_(tensor_of(first_values(p, salt))),
        first_(tensor_of(first_moment(p, salt))),
        second_(tensor_of(second_moment(p, salt))),
        updates_(updates_given(salt)) {}

  void step(const Numbers& gradient, double rate) {
    const Tensor grad = tensor_of(gradient);
    ++updates_;
    std::int64_t at = 0;
    for (const std::int64_t count : p_.sizes) {
      AdamRule rule = p_.rule();
      rule.learning_rate = rate;
      if (std::ssize(shape_of_parameter(count)) < decay_dims_min) rule.weight_decay = 0;
      ops::adam_update_(value_.narrow(at, count), grad.narrow(at, count), first_.narrow(at, count),
                        second_.narrow(at, count), rule, updates_);
      at += count;
    }
  }
  Numbers value() const { return numbers_of(value_); }
  Numbers first() const { return numbers_of(first_); }
  Numbers second() const { return numbers_of(second_); }

 private:
  Tensor tensor_of(const Numbers& values) {
    return from_values(values, {std::ssize(values)}, p_.dtype, device_);
  }
  Numbers numbers_of(const Tensor& tensor) const {
    return as_doubles(p_.dtype, tensor.raw_bytes());
  }

  const Problem& p_;
  CpuDevice device_;
  Tensor value_, first_, second_;
  std::int64_t updates_;
};

Bytes dealt_bytes(const Problem& p, const Numbers& whole, int rank) {
  return to_bytes(p.dtype, deal_of(p.plan(), p.sizes).piece(rank, whole));
}

std::string name_of(Cuts cuts) {
  if (cuts == Cuts::rows) return ", dealt by rows";
  return cuts == Cuts::whole ? ", dealt as whole parameters" : "";
}

}  // namespace

Numbers first_moment(const Problem& p, std::uint64_t salt) { return drawn_all(p, salt, 1, 0); }
Numbers second_moment(const Problem& p, std::uint64_t salt) { return drawn_all(p, salt, 2, 1.5); }

GradientPlan Problem::gradients() const {
  GradientPlan plan{dtype, sizes, std::vector<std::uint8_t>(sizes.size(), 1), held};
  plan.all_digits = measured;
  return plan;
}

zero::FlatShards Problem::plan() const {
  if (cuts == Cuts::whole) return whole_parameters(sizes, ranks());
  if (cuts == Cuts::flat) return zero::flat_shards(sizes, ranks());
  std::vector<Shape> shapes;
  for (const std::int64_t size : sizes) shapes.push_back(shape_of_parameter(size));
  return zero::row_shards(shapes, ranks());
}

AdamRule Problem::rule() const {
  return {.learning_rate = 0.04, .weight_decay = weight_decay, .decay_form = decay_form};
}

std::string Problem::description() const {
  return text(members.description(), ", ", counted(std::ssize(sizes), "parameter"), " of ",
              name_of(dtype), name_of(cuts), ", ", counted(steps, "step"),
              weight_decay == 0 ? "" : text(", weight decay ", weight_decay),
              missing ? ", some gradients are missing" : "", grader::name_of(held));
}

// Second moments are 0.5 at least, so that a rounding stays one: it moves a step, a hundredth, by
// as much of itself.
Numbers tolerance_of(const Problem& p, std::span<const double> right) {
  return relative_tolerance(p.dtype == DType::float64 ? 1e-12 : 1e-5, right);
}

std::int64_t updates_given(std::uint64_t salt) {
  return 2 + static_cast<std::int64_t>(keyed_bits(salt, 60'000) % 7);
}

Zero1Case case_of(const Problem& p, std::uint64_t salt, int rank) {
  Zero1Case one{.plan = p.plan(), .rule = p.rule(), .decay_dims_min = decay_dims_min};
  const Numbers values = first_values(p, salt);
  auto from = values.begin();
  for (const std::int64_t size : p.sizes) {
    one.values.push_back(to_bytes(p.dtype, Numbers(from, from + size)));
    from += size;
  }
  for (int step = 0; step < p.steps; ++step) {
    Gradients& mine =
        one.steps.emplace_back(drawn_gradients(p.gradients(), salt_of_step(salt, step), rank));
    one.rates.push_back(p.rate(step));
    for (std::size_t i = 0; i < p.sizes.size(); ++i) {
      if (has_gradient(p, i, rank)) continue;
      mine.has_grad[i] = 0;
      mine.grads[i].clear();
    }
  }
  one.first = dealt_bytes(p, first_moment(p, salt), rank);
  one.second = dealt_bytes(p, second_moment(p, salt), rank);
  one.updates = updates_given(salt);
  one.measured = p.measured;
  one.softens = p.softens();
  return one;
}

Trained train(const Problem& p, std::uint64_t salt) {
  OneDevice device(p, salt);
  Trained trained;
  for (int step = 0; step < p.steps; ++step) {
    device.step(gradient_in(p, salt, step), p.rate(step));
    trained.values.push_back(device.value());
  }
  trained.first = device.first();
  trained.second = device.second();
  return trained;
}

}  // namespace lockstep::grader::zero_1_optimizer
