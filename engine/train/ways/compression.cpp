#include "engine/train/ways/compression.hpp"

#include "engine/parallel/compress/compression.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

compress::Compression compression_of(const Arguments& arguments) {
  auto compression = compress::compression_of(arguments.get("compress"));
  if (arguments.flag("no-error-feedback")) compression.feedback = compress::ErrorFeedback::off;
  const std::string& dtype = arguments.get("dtype");
  if (dtype == "bfloat16" || dtype == "float16") {
    throw UsageError(text("--compress ", arguments.get("compress"),
                          " needs gradients of float32 or float64, and those of --dtype ", dtype,
                          " have 16 bits already; leave one of them out"));
  }
  return compression;
}

class CompressionMaker final : public WayMaker {
 public:
  std::unique_ptr<collectives::CommHook> make_hook(const Arguments& arguments,
                                                   std::uint64_t seed) const override {
    return compress::make_hook(compression_of(arguments), seed);
  }
  void check(const Arguments& arguments, const nn::ModelSpec&, int) const override {
    compression_of(arguments);
  }
  std::string compression(const Arguments& arguments) const override {
    return text_of(compression_of(arguments));
  }
  std::string note_on_resume(const Arguments& arguments) const override {
    const compress::Compression compression = compression_of(arguments);
    if (!keeps_residuals(compression)) return "";
    return text("what --compress ", text_of(compression),
                " had left out of the gradients before the checkpoint is lost: no checkpoint has "
                "it\n");
  }
};

}  // namespace

const WayMaker& compression_maker() {
  static const CompressionMaker maker;
  return maker;
}

}  // namespace lockstep::train
