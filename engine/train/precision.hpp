// Mixed precision: the types of a run, where they are not one. Its options belong to no way: those
// with whole replicas or with shards read them (DDP, the plain reduction, ZeRO, FSDP), and the
// others refuse them. The file is as light as the declarations.
//
//   --dtype d                 passes, weights and state in d: with Adam and bfloat16, 2 + 2 + 2·2
//                             bytes a parameter
//   --dtype d --masters       passes and gradients in d; weights and state in float32: with the
//                             same, 2 + 2 + 4 + 2·4
//   --reduce-dtype r          gradients travel in r
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "engine/base/dtype.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"

namespace lockstep::train {

// The factor on the loss of passes in float16 (optim/loss_scaler.hpp).
struct LossScale {
  enum class Rule : std::uint8_t { dynamic, fixed } rule = Rule::dynamic;
  float first = 65536;
};

// The types of a run that are not the model's.
struct Precision {
  std::optional<DType> masters{};  // of the weights and of the optimizer's state
  std::optional<DType> reduce{};   // of gradients on their way
  std::optional<LossScale> loss_scale{};
};

inline void declare_precision(Options& options) {
  const auto is_half = [](const Arguments& arguments) {
    return arguments.has("--dtype bfloat16") || arguments.has("--dtype float16");
  };
  options.section("mixed precision")
      .flag("masters",
            "keep a master copy of the weights in float32, and optimizer state, too; passes and\n"
            "gradients are of --dtype")
      .only_if({"masters"},
               "keeps float32 weights beside 16-bit ones: pass --dtype bfloat16 or float16, too",
               is_half)
      .choice("reduce-dtype", {"float32", "bfloat16", "float16"}, "",
              "type in which gradients travel and are summed; without it, the type of the passes")
      .option("loss-scale", "dynamic:65536",
              "--dtype float16: the factor on the loss. dynamic:S begins at S, doubles after 2000\n"
              "steps, and halves when gradients overflow, which skips the step; S is fixed")
      .only_with({"loss-scale"}, "--dtype float16");
}

inline std::optional<DType> dtype_named(const std::string& name) {
  for (const DType dtype : all_dtypes) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

//   Throws  UsageError when the text is no scale
inline LossScale loss_scale_named(const std::string& typed) {
  const std::string dynamic = "dynamic";
  if (typed == dynamic) return {};
  LossScale scale{.rule = LossScale::Rule::fixed};
  std::string number = typed;
  if (typed.starts_with(dynamic + ":")) {
    scale.rule = LossScale::Rule::dynamic;
    number = typed.substr(dynamic.size() + 1);
  }
  const char* const end = number.data() + number.size();
  const auto [at, error] = std::from_chars(number.data(), end, scale.first);
  if (error != std::errc() || at != end || !(scale.first >= 1) || !std::isfinite(scale.first)) {
    throw UsageError(text("--loss-scale ", typed,
                          " is no scale; pass dynamic, dynamic:65536, or a ",
                          "number from 1 on, such as 1024, which stays fixed"));
  }
  return scale;
}

//   Throws  UsageError as loss_scale_named
inline Precision precision_of(const Arguments& arguments) {
  Precision precision;
  if (!arguments.declared("masters")) return precision;
  if (arguments.flag("masters")) precision.masters = DType::float32;
  precision.reduce = dtype_named(arguments.get("reduce-dtype"));
  if (arguments.has("--dtype float16")) {
    precision.loss_scale = loss_scale_named(arguments.get("loss-scale"));
  }
  return precision;
}

}  // namespace lockstep::train
