#include "engine/nn/model_spec.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

nn::ModelSpec gpt_spec() {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.gpt = {.layers = 3,
              .width = 24,
              .heads = 2,
              .sequence = 7,
              .vocabulary = 19,
              .head = nn::OutputHead::untied,
              .dropout = 0.25};
  spec.dtype = DType::float64;
  return spec;
}

}  // namespace

TEST_CASE("model spec: what is written is read again, and makes the same model") {
  nn::ModelSpec mlp;
  mlp.widths = {5, 8, 3};
  for (const nn::ModelSpec& spec : {mlp, gpt_spec()}) {
    const auto metadata = nn::metadata_of(spec);
    const nn::ModelSpec again = nn::spec_of(metadata);
    CHECK(nn::metadata_of(again) == metadata);
    CpuDevice device;
    CHECK(nn::hash_of(*nn::make_model(spec, device, 4)) ==
          nn::hash_of(*nn::make_model(again, device, 4)));
  }
  nn::ModelSpec thirds = gpt_spec();
  thirds.gpt.dropout = 1.0 / 3;
  CHECK(nn::spec_of(nn::metadata_of(thirds)).gpt.dropout == 1.0 / 3);
}

TEST_CASE("model spec: what is missing, and what is no value, is named") {
  auto metadata = nn::metadata_of(gpt_spec());
  metadata["heads"] = "two";
  CHECK_THROWS_WITH(nn::spec_of(metadata), contains("heads = 'two'"));
  metadata["heads"] = "0";
  CHECK_THROWS_AS(nn::spec_of(metadata), UsageError);
  metadata.erase("heads");
  CHECK_THROWS_WITH(nn::spec_of(metadata), contains("no 'heads'"));
  CHECK_THROWS_WITH(nn::spec_of({{"dtype", "int8"}}), contains("int8"));
  CHECK_THROWS_WITH(nn::spec_of({{"dtype", "float32"}, {"model", "cnn"}}), contains("cnn"));
}
