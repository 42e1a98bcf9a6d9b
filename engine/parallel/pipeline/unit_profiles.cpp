#include "engine/parallel/pipeline/unit_profiles.hpp"

#include <algorithm>
#include <span>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/partition_layers.hpp"
#include "engine/tensor/symbolic.hpp"

namespace lockstep::pipeline {
namespace {

// The same model with its layers whole on a rank. Ranks that share a layer share its cost evenly,
// and to find it they need not communicate.
nn::ModelSpec whole_layers(nn::ModelSpec spec) {
  spec.layers = nullptr;
  return spec;
}

std::vector<std::string> names_of(const nn::ModelSpec& spec, nn::UnitRange range) {
  SymbolicDevice sizes_only;
  const auto part = nn::make_units(whole_layers(spec), sizes_only, 0, range);
  std::vector<std::string> names;
  for (const Parameter* parameter : part->parameters()) {
    names.push_back(parameter->name);
  }
  return names;
}

}  // namespace

std::vector<UnitProfile> profile_units(const nn::ModelSpec& spec) {
  SymbolicDevice sizes_only;
  const nn::ModelSpec dense = whole_layers(spec);
  Tensor x = spec.kind == nn::ModelKind::gpt
                 ? empty({1, spec.gpt.sequence}, DType::int64, sizes_only)
                 : empty({1, spec.widths.front()}, spec.dtype, sizes_only);
  std::vector<UnitProfile> profiles;
  for (std::int64_t i = 0; i < nn::unit_count(spec); ++i) {
    const auto unit = nn::make_units(dense, sizes_only, 0, {i, 1});
    const double before = sizes_only.flops();
    Tape tape(GradMode::inference);
    x = unit->forward(tape, tape.constant(x)).tensor;
    profiles.push_back(
        {unit->units().front().name, sizes_only.flops() - before, x.shape(), x.dtype()});
  }
  // Between two units, a rank may have a share of the tokens [1, T, C].
  if (spec.layers) {
    for (UnitProfile& unit : std::span(profiles).first(profiles.size() - 1)) {
      unit.output[1] = spec.layers->tokens().of(unit.output[1]).count();
    }
  }
  return profiles;
}

std::vector<nn::UnitRange> cut(const std::vector<UnitProfile>& units, int parts) {
  if (std::ssize(units) < parts) {
    throw UsageError(text("a pipeline of ", parts, " parts needs as many units, but the model has ",
                          units.size(), " (", units.front().name, " … ", units.back().name,
                          "); pass fewer stages (--pp), fewer --chunks, or more --layers"));
  }
  std::vector<double> costs;
  for (const UnitProfile& unit : units) costs.push_back(unit.flops);
  const std::vector<int> bounds = partition(costs, parts);
  std::vector<nn::UnitRange> ranges;
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k) {
    ranges.push_back({bounds[k], bounds[k + 1] - bounds[k]});
  }
  return ranges;
}

std::vector<std::string> shared_names(const nn::ModelSpec& spec, nn::UnitRange one,
                                      nn::UnitRange other) {
  const std::vector<std::string> theirs = names_of(spec, other);
  std::vector<std::string> shared;
  for (const std::string& name : names_of(spec, one)) {
    if (std::ranges::find(theirs, name) != theirs.end()) shared.push_back(name);
  }
  return shared;
}

}  // namespace lockstep::pipeline
