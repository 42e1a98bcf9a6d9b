// A refusal says what to do next: what the file is that was taken for weights, how the names or the
// dtype of a file fit after all, and which older checkpoint is whole.
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/foreign_file.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/weights.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"

using namespace lockstep;
using checkpoint::NamedTensor;
using lockstep::test::contains;
using lockstep::test::Folder;
using lockstep::test::put;

namespace {

std::string told_of(const std::string& bytes) {
  return checkpoint::told_of_foreign_file(std::as_bytes(std::span(bytes)));
}

const std::vector<std::int64_t> widths{4, 3, 2};

struct Model {
  CpuDevice device;
  std::unique_ptr<nn::Module> module;
  explicit Model(DType dtype = DType::float32) : module(nn::make_mlp(widths, dtype, device, 1)) {}

  // Its tensors under other names, in a file, and why they are refused.
  std::string refused(const std::function<std::string(const std::string&)>& renamed,
                      const checkpoint::Metadata& metadata = {}) {
    const Folder folder;
    std::vector<NamedTensor> tensors = checkpoint::tensors_of(*module);
    for (NamedTensor& tensor : tensors) tensor.name = renamed(tensor.name);
    checkpoint::write_safetensors(folder / "w.safetensors", tensors, metadata);
    return refusal_of(folder / "w.safetensors");
  }
  std::string refusal_of(const std::filesystem::path& file) {
    try {
      checkpoint::load_weights(file, *module);
    } catch (const checkpoint::CheckpointError& error) {
      return error.what();
    }
    return "";
  }
};

}  // namespace

TEST_CASE("next step: a file that was taken for weights is known by its first bytes") {
  const std::string zeros(64, '\0');
  const std::vector<std::pair<std::string, std::string>> known{
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"},
      {"<!DOCTYPE html><html></html>", "HTML page"},
      {"\n  <html lang=\"en\">", "HTML page"},
      {"\xef\xbb\xbf<html>", "HTML page"},
      {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "XML document"},
      {"{\n  \"weight_map\": {\"a\": \"model-00001-of-00002.safetensors\"}}", "names the files"},
      {"PK\3\4" + zeros, "torch.load"},
      {std::string("PK\3\4\0\0\10\10\0\0", 10) + zeros + "archive/data.pkl", "torch.load"},
      {std::string("PK\3\4", 4) + zeros + "weight.npy", "numpy.savez"},
      {"\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", "before version 1.6"},
      {"\x89HDF\r\n\x1a\n" + zeros, "HDF5"},
      {"\x93NUMPY\1" + zeros, "NumPy"},
      {"GGUF\3" + zeros, "llama.cpp"},
      {"\x1f\x8b\10" + zeros, "gzip"},
      {"\x28\xb5\x2f\xfd" + zeros, "zstd"},
      {std::string(257, 'x') + "ustar" + zeros, "tar archive"},
      {"Repository not found, or you lack access to it", "Repository not found, or you lack"},
      {zeros, "zero bytes"}};
  for (const auto& [bytes, told] : known) {
    CAPTURE(bytes, told);
    CHECK_THAT(told_of(bytes), contains(told));
    const Folder folder;
    put(folder / "weights.safetensors", bytes);
    CHECK_THROWS_WITH(checkpoint::SafetensorsFile(folder / "weights.safetensors"),
                      contains("weights.safetensors: expected a safetensors file, and this is"));
  }
}

TEST_CASE("next step: a safetensors file is none of these, however long its header is") {
  for (const char c : {'{', '<', '[', 'P', '\x80', '\x1f', 'v'}) {
    const std::string header = "{\"__metadata__\":{\"a\":\"" + std::string(4000, 'b') + "\"}}";
    std::string length(8, '\0');
    length[0] = c;
    length[1] = '\7';
    CHECK(told_of(length + header) == "");
  }
}

TEST_CASE("next step: names with something in front are told, with the line that takes it off") {
  Model model;
  for (const std::string prefix : {"module.", "_orig_mod.", "_orig_mod.module.", "model.net."}) {
    const auto refusal = model.refused([&](const std::string& name) { return prefix + name; });
    CAPTURE(refusal);
    CHECK_THAT(refusal, contains("\"" + prefix + "\" stands before every name"));
    CHECK_THAT(refusal, contains("k.removeprefix(\"" + prefix + "\"): v"));
  }
  CHECK_THAT(model.refused([](const std::string& name) { return "module." + name; }),
             contains("as in PyTorch's DDP"));
  // Before one name only, it is another model.
  const auto other = model.refused(
      [](const std::string& name) { return name == "0.weight" ? "module.0.weight" : name; });
  CHECK_THAT(other, !contains("stands before") && contains("it has 4 tensors"));
}

TEST_CASE("next step: a file of another dtype is told with the option that reads it") {
  for (const auto& [dtype, told] :
       std::vector<std::pair<DType, std::string>>{{DType::bfloat16, "pass --dtype bfloat16"},
                                                  {DType::float64, "pass --dtype float64"},
                                                  {DType::float16, "save_file({k: v.float()"}}) {
    const Folder folder;
    Model other(dtype == DType::float16 ? DType::float32 : dtype), model;
    std::vector<NamedTensor> tensors = checkpoint::tensors_of(*other.module);
    for (NamedTensor& tensor : tensors) tensor.value = tensor.value.to(dtype);
    checkpoint::write_safetensors(folder / "w.safetensors", tensors);
    CHECK_THAT(model.refusal_of(folder / "w.safetensors"), contains(told));
  }
}

TEST_CASE("next step: what the file says of its model is told, and no metadata is spoken of else") {
  Model model;
  const auto renamed = [](const std::string& name) { return "x" + name; };
  CHECK_THAT(model.refused(renamed, {{"model", "mlp"}, {"widths", "4 9 2"}}),
             contains("its metadata says model mlp, widths 4 9 2: pass the options"));
  const auto of_torch = model.refused(renamed, {{"format", "pt"}});
  CHECK_THAT(of_torch, contains("the file does not say how its model is made; it has 4 tensors") &&
                           contains("\"x0.bias\" float32 [3]") && !contains("metadata"));
}

TEST_CASE("next step: of damaged checkpoints, the newest older one that is whole is found") {
  const Folder folder;
  Model model;
  const auto optimizer = optim::make_sgd(model.module->parameters(), {0.1});
  for (const int step : {3, 7, 9, 12}) {
    checkpoint::save(folder.path(), *model.module, *optimizer, {.step = step});
  }
  const auto latest = *checkpoint::latest_in(folder.path());
  CHECK(checkpoint::damage_of(latest) == "");
  put(latest / "index.json", "");
  std::filesystem::resize_file(folder / "step_000009" / "model.safetensors", 20);
  CHECK_THAT(checkpoint::damage_of(latest), contains("index.json"));
  CHECK(checkpoint::whole_before(latest) == folder / "step_000007");
  std::filesystem::remove_all(folder / "step_000007" / "optimizer.safetensors");
  std::filesystem::remove(folder / "step_000003" / "index.json");
  CHECK(checkpoint::whole_before(latest) == std::nullopt);
  CHECK(checkpoint::whole_before(folder / "step_000003") == std::nullopt);
}
