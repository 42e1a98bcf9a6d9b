#include "grader/parts/11_sharding/zero_1_optimizer/oracle.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/random.hpp"
#include "engine/base/units.hpp"
#include "grader/exam/training_tolerance.hpp"
#include "grader/judge/compare.hpp"

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
  return 2 * random_uniform(random_bits(salt, 40'000 + stream), e) - 1;
}

Numbers rounded(DType dtype, Numbers values) { return as_doubles(dtype, to_bytes(dtype, values)); }

Numbers drawn_all(const Problem& p, std::uint64_t salt, std::uint64_t stream, double plus) {
  Numbers all(static_cast<std::size_t>(p.plan().count));
  for (std::size_t e = 0; e < all.size(); ++e) all[e] = plus + drawn(salt, stream, e);
  return rounded(p.dtype, all);
}
Numbers first_values(const Problem& p, std::uint64_t salt) { return drawn_all(p, salt, 0, 0); }
Numbers first_moment(const Problem& p, std::uint64_t salt) { return drawn_all(p, salt, 1, 0); }
Numbers second_moment(const Problem& p, std::uint64_t salt) { return drawn_all(p, salt, 2, 1.5); }

bool has_gradient(const Problem& p, std::size_t i, int rank) {
  return !p.missing || !((i % 3 == 0 && rank % 2 == 0) || i == 1);
}

std::uint64_t salt_of_step(std::uint64_t salt, int step) {
  return random_bits(salt, 50'000 + static_cast<std::uint64_t>(step));
}

// The gradients of all parameters in one step, as the mistake makes them.
Numbers gradient_in(const Problem& p, std::uint64_t salt, int step, Variant variant) {
  const Numbers whole(static_cast<std::size_t>(p.plan().count));
  const bool own = variant == Variant::own_gradients || variant == Variant::own_shares;
  double share = 1.0 / p.ranks();
  if (variant == Variant::summed || variant == Variant::own_gradients) share = 1;
  if (variant == Variant::divided_twice) share /= p.ranks();
  if (variant == Variant::times_zero) share = 0;
  const Dealt deal = deal_of(p.plan(), p.sizes);
  Numbers sum = whole;
  for (int r = 0; r < p.ranks(); ++r) {
    Numbers mine = whole;
    std::size_t e = 0;
    for (std::size_t i = 0; i < p.sizes.size(); ++i) {
      const auto of_one = drawn_gradient(p.gradients(), salt_of_step(salt, step), r, i);
      for (const double value : of_one) mine[e++] = has_gradient(p, i, r) ? value * share : 0;
    }
    if (variant == Variant::largest && r > 0) {
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = std::max(sum[k], mine[k]);
      continue;
    }
    if (!own) {
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += mine[k];
      continue;
    }
    for (const std::int64_t place : deal.places(r)) {
      if (place == Dealt::padding) continue;
      sum[static_cast<std::size_t>(place)] = mine[static_cast<std::size_t>(place)];
    }
  }
  return sum;
}

AdamRule rule_by(const Problem& p, Variant variant, std::size_t parameter) {
  AdamRule rule = p.rule();
  const bool above = variant == Variant::decays_above;
  const bool small =
      std::ssize(shape_of_parameter(p.sizes[parameter])) < decay_dims_min + (above ? 1 : 0);
  if (variant == Variant::decays_nothing || (small && variant != Variant::decays_all)) {
    rule.weight_decay = 0;
  }
  if (variant == Variant::other_decay) {
    const bool coupled = rule.decay_form == DecayForm::coupled;
    rule.decay_form = coupled ? DecayForm::decoupled : DecayForm::coupled;
  }
  return rule;
}

// The model in numbers of the problem's type, on one device.
class OneDevice {
 public:
  OneDevice(const Problem& p, std::uint64_t salt, Variant variant)
      : p_(p),
        variant_(variant),
        value_(tensor_of(first_values(p, salt))),
        first_(tensor_of(first_moment(p, salt))),
        second_(tensor_of(second_moment(p, salt))),
        updates_(variant == Variant::from_one ? 0 : updates_given(salt)) {
    if (variant == Variant::from_zero) first_.fill_(0), second_.fill_(0);
  }

  void step(const Numbers& gradient) {
    const Tensor grad = tensor_of(gradient);
    const zero::FlatShards plan = p_.plan();
    ++updates_;
    for (int rank = 0; rank < p_.ranks(); ++rank) {
      const auto& pieces = plan.ranks[static_cast<std::size_t>(rank)];
      std::int64_t updates =
          updates_ + (counts_pieces() ? (steps_ * std::ssize(pieces)) - steps_ : 0);
      if (variant_ == Variant::counts_late) --updates;
      bool decays = true;
      for (const zero::ShardPiece& piece : pieces) {
        if (variant_ == Variant::skips_missing && !has_gradient(p_, piece.parameter, rank))
          continue;
        const std::int64_t at = start_of(piece.parameter) + piece.begin;
        const std::int64_t count = piece.end - piece.begin;
        AdamRule rule = rule_by(p_, variant_, piece.parameter);
        decays = decays && rule.weight_decay != 0;
        if (variant_ == Variant::shares_rule && !decays) rule.weight_decay = 0;
        ops::adam_update_(value_.narrow(at, count), grad.narrow(at, count),
                          first_.narrow(at, count), second_.narrow(at, count), rule, updates);
        if (counts_pieces()) ++updates;
      }
    }
    ++steps_;
  }
  Numbers value() const { return numbers_of(value_); }
  Numbers first() const { return numbers_of(first_); }
  Numbers second() const { return numbers_of(second_); }

 private:
  bool counts_pieces() const { return variant_ == Variant::counts_pieces; }
  std::int64_t start_of(std::size_t parameter) const {
    return std::accumulate(p_.sizes.begin(),
                           p_.sizes.begin() + static_cast<std::ptrdiff_t>(parameter),
                           std::int64_t{0});
  }
  Tensor tensor_of(const Numbers& values) {
    return from_values(values, {std::ssize(values)}, p_.dtype, device_);
  }
  Numbers numbers_of(const Tensor& tensor) const {
    return as_doubles(p_.dtype, tensor.raw_bytes());
  }

  const Problem& p_;
  Variant variant_;
  CpuDevice device_;
  Tensor value_, first_, second_;
  std::int64_t updates_, steps_ = 0;
};

Bytes dealt_bytes(const Problem& p, const Numbers& whole, int rank) {
  return to_bytes(p.dtype, deal_of(p.plan(), p.sizes).piece(rank, whole));
}

std::string name_of(Cuts cuts) {
  if (cuts == Cuts::rows) return ", dealt by rows";
  return cuts == Cuts::whole ? ", dealt as whole parameters" : "";
}

struct Told {
  Variant variant;
  Cause cause;
};

std::vector<Told> all_mistakes(const Problem& p) {
  const std::string n = text(p.ranks());
  const Cause own{"not_averaged",
                  "each owner updates with its own gradients alone; it needs those of all ranks"};
  return {
      {Variant::never_steps, {"unmoved", "no parameter has moved: nothing was updated"}},
      {Variant::not_gathered,
       {"not_gathered",
        "only this rank's own range was updated here; every rank needs all ranges that the others "
        "updated, so gather them after the update"}},
      {Variant::summed,
       {"summed_not_averaged",
        text("the gradients of the ranks were summed, and not divided by ", n)}},
      {Variant::divided_twice,
       {"divided_twice", text("the gradients were divided by ", n, " twice")}},
      {Variant::times_zero,
       {"zero", "the gradients were multiplied by 0: 1 / N of two integers is 0; write 1.0 / N"}},
      {Variant::largest,
       {"other_operator",
        "the largest of the ranks' gradients were taken, where their sum is needed: "
        "ReduceOp::sum"}},
      {Variant::own_gradients, own},
      {Variant::own_shares, own},
      {Variant::from_zero,
       {"state_lost", "the moments began at 0 and not with those of the state that was given"}},
      {Variant::from_one,
       {"updates_lost",
        "the updates that the given state has seen are not counted: Adam divides by 1 - βᵗ, and t "
        "goes on"}},
      {Variant::counts_pieces,
       {"updates_by_piece",
        "the number of updates grows with each piece of a range; it is one number of the whole "
        "range, and grows once a step"}},
      {Variant::counts_late,
       {"updates_late",
        "Adam was given the number of updates before this one; this update counts, too"}},
      {Variant::skips_missing,
       {"missing_skipped",
        "an owner that has no gradient of its own left the element as it was; the other ranks' "
        "gradients count, and where no rank has one, the mean is 0, and the moments still shrink"}},
      {Variant::decays_nothing, {"no_decay", "weight decay is missing"}},
      {Variant::shares_rule,
       {"rule_shared",
        "behind the first piece of a range that is not decayed, no piece is: the rule was changed "
        "for all that follow. Each piece takes its own copy of the rule"}},
      {Variant::decays_above,
       {"decays_too_few",
        "parameters with exactly decay_dims_min dimensions were not decayed; only those with fewer "
        "are left out"}},
      {Variant::decays_all,
       {"decays_all",
        "parameters with fewer dimensions than decay_dims_min were decayed; a range holds pieces "
        "of several parameters, so each piece asks its own parameter"}},
      {Variant::other_decay,
       {"other_decay", "weight decay takes the other form than rule.decay_form says"}},
  };
}

}  // namespace

GradientPlan Problem::gradients() const {
  return {dtype, sizes, std::vector<std::uint8_t>(sizes.size(), 1), held};
}

zero::FlatShards Problem::plan() const {
  if (cuts == Cuts::whole) return whole_parameters(sizes, ranks());
  if (cuts == Cuts::flat) return zero::flat_shards(sizes, ranks());
  std::vector<Shape> shapes;
  for (const std::int64_t size : sizes) shapes.push_back(shape_of_parameter(size));
  return zero::row_shards(shapes, ranks());
}

AdamRule Problem::rule() const {
  return {.learning_rate = 0.01, .weight_decay = weight_decay, .decay_form = decay_form};
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
  return 2 + static_cast<std::int64_t>(random_bits(salt, 60'000) % 7);
}

Zero1Case case_of(const Problem& p, std::uint64_t salt, int rank) {
  Zero1Case one{
      .filler = p.filler, .plan = p.plan(), .rule = p.rule(), .decay_dims_min = decay_dims_min};
  const Numbers values = first_values(p, salt);
  auto from = values.begin();
  for (const std::int64_t size : p.sizes) {
    one.values.push_back(to_bytes(p.dtype, Numbers(from, from + size)));
    from += size;
  }
  for (int step = 0; step < p.steps; ++step) {
    Gradients& mine =
        one.steps.emplace_back(drawn_gradients(p.gradients(), salt_of_step(salt, step), rank));
    for (std::int64_t& size : mine.sizes) size *= p.filler;
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
  return one;
}

Trained train(const Problem& p, std::uint64_t salt, Variant variant, int rank) {
  OneDevice device(p, salt, variant);
  Trained trained;
  const Dealt deal = deal_of(p.plan(), p.sizes);
  for (int step = 0; step < p.steps; ++step) {
    if (variant != Variant::never_steps) device.step(gradient_in(p, salt, step, variant));
    Numbers& values = trained.values.emplace_back(device.value());
    if (variant != Variant::not_gathered) continue;
    Numbers seen = first_values(p, salt);
    for (const std::int64_t place : deal.places(rank)) {
      if (place == Dealt::padding) continue;
      seen[static_cast<std::size_t>(place)] = values[static_cast<std::size_t>(place)];
    }
    values = seen;
  }
  trained.first = device.first();
  trained.second = device.second();
  return trained;
}

std::optional<Cause> mistake_of(const Problem& p, std::uint64_t salt, int rank, std::size_t step,
                                std::span<const double> seen) {
  const Numbers right = train(p, salt, Variant::right).values[step];
  if (!all_finite(seen) && all_finite(right)) {
    return Cause{"no_number",
                 "this value is not finite: memory was read that nobody had written to, or a "
                 "moment is not the one that the rule asks for"};
  }
  if (!first_difference(seen, right, relative_tolerance(1e-8, right))) {
    return Cause{"last_digits",
                 "only the last digits are wrong: a gradient or a value went through a smaller "
                 "type, or the rule's epsilon was lost"};
  }
  for (const Told& one : all_mistakes(p)) {
    const Numbers gives = train(p, salt, one.variant, rank).values[step];
    if (!first_difference(seen, gives, tolerance_of(p, gives))) return one.cause;
  }
  return std::nullopt;
}

std::vector<Mistake<Numbers>> mistakes_of_moment(const Problem& p, std::uint64_t salt, int rank,
                                                 Numbers Trained::*moment) {
  std::vector<Mistake<Numbers>> all;
  for (const Told& one : all_mistakes(p)) {
    if (one.variant == Variant::never_steps) continue;  // the parameters have moved
    all.push_back({one.cause, train(p, salt, one.variant, rank).*moment});
  }
  const Cause old{"state_old",
                  "state() returns what the optimizer was given, and not what steps made of it"};
  all.push_back({old, train(p, salt, Variant::never_steps).*moment});
  return all;
}

}  // namespace lockstep::grader::zero_1_optimizer
