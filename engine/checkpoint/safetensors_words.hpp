// The words of the safetensors format. Private to its reader and its writer.
#pragma once

#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/dtype.hpp"

namespace lockstep::checkpoint {

using Json = nlohmann::ordered_json;

constexpr const char* metadata_key = "__metadata__";

// The format's word for a dtype, widest first: the order in which tensors are written.
struct Word {
  DType dtype;
  const char* word;
};
inline constexpr std::array words{Word{DType::int64, "I64"},     Word{DType::float64, "F64"},
                                  Word{DType::float32, "F32"},   Word{DType::int32, "I32"},
                                  Word{DType::bfloat16, "BF16"}, Word{DType::float16, "F16"},
                                  Word{DType::int8, "I8"},       Word{DType::uint8, "U8"}};

}  // namespace lockstep::checkpoint
