// Cases of fully_sharded, what units compute, and what is right.
#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/parts/11_sharding/fully_sharded/rules.hpp"

namespace lockstep::grader::fully_sharded {
namespace {

using Numbers = std::vector<double>;
using Kind = UnitCall::Kind;

std::string name_of(Sharding sharding) {
  if (sharding == Sharding::no_shard) return "no_shard";
  return sharding == Sharding::full_shard ? "full_shard" : "shard_grad_op";
}

Numbers first_values(const Problem& p, std::uint64_t salt, std::size_t unit) {
  Numbers all(static_cast<std::size_t>(p.cut(unit).count));
  for (std::size_t e = 0; e < all.size(); ++e) {
    all[e] = 2 * keyed_uniform(keyed_bits(salt, 40'000 + unit), e) - 1;
  }
  return as_doubles(p.dtype, to_bytes(p.dtype, all));
}

std::uint64_t salt_of_pass(std::uint64_t salt, int pass) {
  return keyed_bits(salt, 50'000 + static_cast<std::uint64_t>(pass));
}

}  // namespace

std::string Problem::description() const {
  return text(members.description(), ", ", name_of(sharding), ", ",
              counted(std::ssize(units), "unit"), " of ", lockstep::name_of(dtype), ", ",
              counted(steps, "step"), passes > 1 ? text(" of ", passes, " passes") : "",
              missing ? ", some gradients are missing" : "", grader::name_of(held));
}

zero::FlatShards Problem::cut(std::size_t unit) const {
  return zero::flat_shards(units[unit], shard_ranks());
}

std::int64_t Problem::bytes(std::int64_t numbers) const {
  return numbers * static_cast<std::int64_t>(bytes_of(dtype));
}

GradientPlan Problem::gradients() const {
  GradientPlan plan{.dtype = dtype, .sizes = {}, .has_grad = {}, .held = held};
  for (const auto& sizes : units) plan.sizes.insert(plan.sizes.end(), sizes.begin(), sizes.end());
  plan.has_grad.assign(plan.sizes.size(), 1);
  plan.all_digits = measured;
  return plan;
}

std::size_t Problem::first_parameter(std::size_t unit) const {
  std::size_t first = 0;
  for (std::size_t u = 0; u < unit; ++u) first += units[u].size();
  return first;
}

ShardedCase case_of(const Problem& p, std::uint64_t salt, int rank) {
  ShardedCase one{.dtype = p.dtype, .sharding = p.sharding, .units = {}};
  one.steps = static_cast<std::uint32_t>(p.steps);
  one.passes = static_cast<std::uint32_t>(p.passes);
  one.rate = rate;
  const int shard = p.sharding == Sharding::no_shard ? 0 : rank;
  for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
    const Dealt deal = deal_of(p.cut(unit), p.units[unit]);
    one.units.push_back({p.units[unit], p.cut(unit),
                         to_bytes(p.dtype, deal.piece(shard, first_values(p, salt, unit)))});
  }
  return one;
}

std::optional<Numbers> gradient_of(const Problem& p, std::uint64_t salt, int rank, int pass,
                                   std::size_t parameter) {
  const bool absent = (parameter % 3 == 0 && rank % 2 == 0) || parameter == 1;
  if (p.missing && absent) return std::nullopt;
  return drawn_gradient(p.gradients(), salt_of_pass(salt, pass), rank, parameter);
}

Trained train(const Problem& p, std::uint64_t salt) {
  Trained trained;
  std::vector<Numbers> values;
  for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
    values.push_back(first_values(p, salt, unit));
  }
  for (int step = 0; step < p.steps; ++step) {
    trained.values.push_back(values);
    auto& gradients = trained.gradients.emplace_back();
    for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
      Numbers& mean = gradients.emplace_back(values[unit].size());
      for (int pass = step * p.passes; pass < (step + 1) * p.passes; ++pass) {
        for (int rank = 0; rank < p.ranks(); ++rank) {
          std::size_t e = 0;
          for (std::size_t i = 0; i < p.units[unit].size(); ++i) {
            const auto made = gradient_of(p, salt, rank, pass, p.first_parameter(unit) + i);
            const auto count = static_cast<std::size_t>(p.units[unit][i]);
            for (std::size_t k = 0; made && k < count; ++k) mean[e + k] += (*made)[k] / p.ranks();
            e += count;
          }
        }
      }
      for (std::size_t e = 0; e < mean.size(); ++e) values[unit][e] -= rate * mean[e];
    }
  }
  return trained;
}

const std::vector<UnitService::Note>& UnitService::notes(int rank) const {
  const auto& all = notes_[static_cast<std::size_t>(rank)];
  if (all.size() != calls_of_step() * static_cast<std::size_t>(p_.steps)) {
    throw MalformedMessage("a rank did not run all of its passes");
  }
  return all;
}

std::optional<sim::Service::Answer> UnitService::answer(const sim::Actor& who, UnitCall call,
                                                        double now) {
  const int rank = p_.members.group_rank(who.rank);
  if (rank >= p_.ranks()) throw Error(text("rank ", who.rank, " is no member"));
  auto& notes = notes_[static_cast<std::size_t>(rank)];
  const std::size_t in_step = notes.size() % calls_of_step();
  const int step = static_cast<int>(notes.size() / calls_of_step());
  if (step >= p_.steps) throw Error("there is no such step");
  Kind kind = Kind::update;
  std::size_t unit = 0;
  if (in_step + 1 < calls_of_step()) {
    const std::size_t at = in_step % calls_of_pass(), count = p_.units.size();
    kind = at < count ? Kind::forward : Kind::backward;
    unit = at < count ? at : 2 * count - 1 - at;
  }
  if (call.kind != kind || call.unit != unit) throw Error("passes come in their order");
  const bool passes = kind != Kind::update;
  if (passes &&
      (call.values.size() != p_.units[unit].size() || call.there.size() != call.values.size())) {
    throw Error("not the parameters of this unit");
  }
  if (call.whole.size() != p_.units.size() || call.whole_at_gather.size() != p_.units.size() ||
      call.now_bytes < 0 || call.most_bytes < call.now_bytes) {
    throw Error("not the memory of these units");
  }
  const int in_passes = static_cast<int>(in_step / calls_of_pass());
  const auto bytes = p_.measured ? runner_->memory_bytes(who.rank) : std::nullopt;
  const auto peak_bytes = p_.measured ? runner_->take_peak_bytes(who.rank) : std::nullopt;
  notes.push_back({std::move(call), step, in_passes, bytes, peak_bytes});
  UnitAnswer made;
  for (std::size_t i = 0; kind == Kind::backward && i < p_.units[unit].size(); ++i) {
    const int pass = step * p_.passes + in_passes;
    const auto gradient = gradient_of(p_, salt_, rank, pass, p_.first_parameter(unit) + i);
    made.made.push_back(gradient ? 1 : 0);
    made.gradients.push_back(gradient ? to_bytes(p_.dtype, *gradient) : Bytes{});
  }
  return answer_with(made, now);
}

}  // namespace lockstep::grader::fully_sharded
