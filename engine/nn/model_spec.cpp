#include "engine/nn/model_spec.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "engine/nn/mlp.hpp"

namespace lockstep::nn {
namespace {

using Metadata = std::map<std::string, std::string>;

// The limit of any one size. Larger ones would overflow when they are multiplied, and no such model
// is made.
constexpr std::int64_t size_max = 1 << 24;

const std::string& found(const Metadata& metadata, const std::string& name) {
  const auto at = metadata.find(name);
  if (at == metadata.end()) {
    throw UsageError(text("the description of the model has no '", name,
                          "'; was it written by lab train --checkpoint?"));
  }
  return at->second;
}

[[noreturn]] void refuse(const std::string& name, const std::string& value, const char* expected) {
  throw UsageError(
      text("the description of the model has ", name, " = '", value, "', expected ", expected));
}

std::int64_t integer(const std::string& name, const std::string& value) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || at != end || number < 1 || number > size_max) {
    refuse(name, value, "a number from 1 to 16,777,216");
  }
  return number;
}

DType dtype_of(const Metadata& metadata) {
  const std::string& name = found(metadata, "dtype");
  if (name == "float32") return DType::float32;
  if (name == "float64") return DType::float64;
  if (name == "bfloat16") return DType::bfloat16;
  refuse("dtype", name, "float32, float64 or bfloat16");
}

// The shortest digits that are read as this number again.
std::string shortest(double number) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  return {digits, end};
}

double rate(const std::string& name, const std::string& value) {
  double number = 0;
  const char* end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || at != end || !(number >= 0 && number < 1)) {
    refuse(name, value, "a number in [0, 1)");
  }
  return number;
}

// Above 0; "none" is infinite.
double capacity_of(const std::string& value) {
  if (value == "none") return std::numeric_limits<double>::infinity();
  double number = 0;
  const char* end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || at != end || !(number > 0 && number <= size_max)) {
    refuse("capacity", value, "none, or a number above 0");
  }
  return number;
}

void add_mixture(Metadata& metadata, const MixtureOptions& mixture) {
  metadata.insert({{"experts", text(mixture.experts)},
                   {"top_k", text(mixture.top_k)},
                   {"capacity", std::isinf(mixture.capacity) ? "none" : shortest(mixture.capacity)},
                   {"router", mixture.router == Router::tokens ? "tokens" : "experts"},
                   {"aux_loss", shortest(mixture.aux_loss)}});
}

MixtureOptions mixture_of(const Metadata& metadata) {
  MixtureOptions mixture;
  if (!metadata.contains("experts")) return mixture;
  mixture.experts = integer("experts", found(metadata, "experts"));
  mixture.top_k = integer("top_k", found(metadata, "top_k"));
  if (mixture.top_k > mixture.experts) {
    refuse("top_k", text(mixture.top_k), "at most the number of experts");
  }
  mixture.capacity = capacity_of(found(metadata, "capacity"));
  const std::string& router = found(metadata, "router");
  if (router != "tokens" && router != "experts") refuse("router", router, "tokens or experts");
  mixture.router = router == "tokens" ? Router::tokens : Router::experts;
  mixture.aux_loss = rate("aux_loss", found(metadata, "aux_loss"));
  return mixture;
}

}  // namespace

std::int64_t unit_count(const ModelSpec& spec) {
  return spec.kind == ModelKind::gpt ? unit_count(spec.gpt) : std::ssize(spec.widths) - 1;
}

std::unique_ptr<Chain> make_units(const ModelSpec& spec, Device& device, std::uint64_t seed,
                                  UnitRange range) {
  if (spec.kind == ModelKind::gpt) {
    const LayerMaker whole;
    return make_gpt_units(spec.gpt, spec.dtype, device, seed, range,
                          spec.layers ? *spec.layers : whole);
  }
  return make_mlp_units(spec.widths, spec.dtype, device, seed, range);
}

std::unique_ptr<Module> make_model(const ModelSpec& spec, Device& device, std::uint64_t seed) {
  return make_units(spec, device, seed, {0, unit_count(spec)});
}

Metadata metadata_of(const ModelSpec& spec) {
  Metadata metadata{{"dtype", std::string(name_of(spec.dtype))}};
  if (spec.kind == ModelKind::mlp) {
    std::string widths;
    for (const std::int64_t width : spec.widths) {
      if (!widths.empty()) widths += ' ';
      widths += text(width);
    }
    metadata.insert({{"model", "mlp"}, {"widths", widths}});
    return metadata;
  }
  metadata.insert({{"model", "gpt"},
                   {"layers", text(spec.gpt.layers)},
                   {"width", text(spec.gpt.width)},
                   {"heads", text(spec.gpt.heads)},
                   {"sequence", text(spec.gpt.sequence)},
                   {"vocabulary", text(spec.gpt.vocabulary)},
                   {"head", spec.gpt.head == OutputHead::tied ? "tied" : "untied"},
                   {"dropout", shortest(spec.gpt.dropout)}});
  if (spec.gpt.mixture.experts > 0) add_mixture(metadata, spec.gpt.mixture);
  return metadata;
}

ModelSpec spec_of(const Metadata& metadata) {
  ModelSpec spec;
  spec.dtype = dtype_of(metadata);
  const std::string& model = found(metadata, "model");
  if (model == "mlp") {
    std::istringstream widths(found(metadata, "widths"));
    for (std::string width; widths >> width;) spec.widths.push_back(integer("widths", width));
    return spec;
  }
  if (model != "gpt") refuse("model", model, "mlp or gpt");
  spec.kind = ModelKind::gpt;
  const auto size = [&](const char* name) { return integer(name, found(metadata, name)); };
  spec.gpt.layers = size("layers");
  spec.gpt.width = size("width");
  spec.gpt.heads = size("heads");
  spec.gpt.sequence = size("sequence");
  spec.gpt.vocabulary = size("vocabulary");
  spec.gpt.dropout = rate("dropout", found(metadata, "dropout"));
  const std::string& head = found(metadata, "head");
  if (head != "tied" && head != "untied") refuse("head", head, "tied or untied");
  spec.gpt.head = head == "tied" ? OutputHead::tied : OutputHead::untied;
  spec.gpt.mixture = mixture_of(metadata);
  return spec;
}

}  // namespace lockstep::nn
