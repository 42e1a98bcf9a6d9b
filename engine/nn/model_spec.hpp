// The specification of a model, as a value: enough to make it, to write it into a checkpoint, and
// to make the same one again in another program.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/nn/gpt.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::nn {

enum class ModelKind : std::uint8_t { mlp, gpt };

struct ModelSpec {
  ModelKind kind = ModelKind::mlp;
  std::vector<std::int64_t> widths;  // of the mlp: inputs, hidden layers, classes
  GptOptions gpt;
  DType dtype = DType::float32;
  // Makes the layers of a gpt; none: a LayerMaker, whose layers are whole on each rank.
  std::shared_ptr<const LayerMaker> layers = nullptr;
};

std::unique_ptr<Module> make_model(const ModelSpec& spec, Device& device, std::uint64_t seed);
// A part of it (units.hpp), with the numbers that make_model gives it.
std::int64_t unit_count(const ModelSpec& spec);
std::unique_ptr<Chain> make_units(const ModelSpec& spec, Device& device, std::uint64_t seed,
                                  UnitRange range);

// As names and texts, and back. How activations are kept and where the layers lie is no property of
// the model and not in it.
//   Throws  UsageError, when read, that names what is missing or is no value of its kind
std::map<std::string, std::string> metadata_of(const ModelSpec& spec);
ModelSpec spec_of(const std::map<std::string, std::string>& metadata);

}  // namespace lockstep::nn
