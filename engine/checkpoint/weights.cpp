#include "engine/checkpoint/weights.hpp"

#include <algorithm>
#include <vector>

namespace lockstep::checkpoint {
namespace {

std::string kind_of(DType dtype, const Shape& shape) {
  return text(name_of(dtype), " ", text_of(shape));
}

[[noreturn]] void refuse(const SafetensorsFile& file, const std::string& why) {
  throw CheckpointError(
      text(file.path(), " is of another model: ", why, "; make the model as its metadata says"));
}

}  // namespace

std::vector<NamedTensor> tensors_of(nn::Module& model) {
  std::vector<NamedTensor> tensors;
  for (const Parameter* parameter : model.parameters()) {
    tensors.push_back({parameter->name, parameter->value});
  }
  for (const nn::Buffer* buffer : model.buffers()) tensors.push_back({buffer->name, buffer->value});
  return tensors;
}

void check_part_of_model(const SafetensorsFile& file, nn::Module& part) {
  for (const NamedTensor& mine : tensors_of(part)) {
    const TensorEntry* saved = file.find(mine.name);
    const std::string kind = kind_of(mine.value.dtype(), mine.value.shape());
    if (saved == nullptr) refuse(file, text("it has no ", quoted(mine.name), ", here ", kind));
    if (saved->dtype != mine.value.dtype() || saved->shape != mine.value.shape()) {
      refuse(file, text(quoted(mine.name), " is ", kind_of(saved->dtype, saved->shape),
                        " in the file and ", kind, " here"));
    }
  }
}

void check_same_model(const SafetensorsFile& file, nn::Module& module) {
  check_part_of_model(file, module);
  const auto model = tensors_of(module);
  for (const TensorEntry& saved : file.tensors()) {
    if (std::ranges::find(model, saved.name, &NamedTensor::name) == model.end()) {
      refuse(file, text("it has ", quoted(saved.name), ", ", kind_of(saved.dtype, saved.shape),
                        ", which is not here"));
    }
  }
}

void read_weights(const SafetensorsFile& file, nn::Module& model) {
  for (const NamedTensor& mine : tensors_of(model))
    file.load_into(*file.find(mine.name), mine.value);
}

void save_weights(const std::filesystem::path& file, nn::Module& model, const Metadata& metadata) {
  write_safetensors(file, tensors_of(model), metadata);
}

void load_weights(const std::filesystem::path& file, nn::Module& model) {
  const SafetensorsFile weights(file);
  check_same_model(weights, model);
  read_weights(weights, model);
}

}  // namespace lockstep::checkpoint
