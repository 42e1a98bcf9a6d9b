#include "engine/checkpoint/weights.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "engine/checkpoint/load_for_inference.hpp"
#include "engine/checkpoint/read_index.hpp"

namespace lockstep::checkpoint {
namespace {

// The entry that a file must have for a tensor of the model: for one that a rank holds in part, the
// whole.
struct Expected {
  std::string name;
  DType dtype;
  Shape shape;
};

std::vector<Expected> expected_of(nn::Module& model) {
  std::vector<Expected> all;
  for (const Parameter* parameter : model.parameters()) {
    all.push_back({parameter->name, parameter->value.dtype(), parameter->whole_shape()});
  }
  for (const nn::Buffer* buffer : model.buffers()) {
    all.push_back({buffer->name, buffer->value.dtype(), buffer->value.shape()});
  }
  return all;
}

std::string kind_of(DType dtype, const Shape& shape) {
  return text(name_of(dtype), " ", text_of(shape));
}

// Finds what stands before the model's names in all names of the file; empty where nothing does, or
// where the file is of another model.
std::string prefix_in(const SavedTensors& file, const std::vector<Expected>& model) {
  if (model.empty()) return "";
  const std::string end = "." + model.front().name;
  for (const TensorEntry& saved : file.tensors()) {
    if (!saved.name.ends_with(end)) continue;
    const std::string prefix = saved.name.substr(0, saved.name.size() + 1 - end.size());
    const auto has = [&](const Expected& mine) { return file.find(prefix + mine.name) != nullptr; };
    if (std::ranges::all_of(model, has)) return prefix;
  }
  return "";
}

std::string in_python(const SavedTensors& file, const std::string& entry) {
  return text("in Python, with safetensors.torch: save_file({", entry, " for k, v in load_file(\"",
              file.path(), "\").items()}, \"NEW.safetensors\")");
}

std::string told_of_prefix(const SavedTensors& file, const std::string& prefix) {
  const char* const whose = prefix == "module."      ? ", as in PyTorch's DDP"
                            : prefix == "_orig_mod." ? ", as after torch.compile"
                                                     : "";
  return text(quoted(prefix), " stands before every name", whose, "; to take it off, ",
              in_python(file, text("k.removeprefix(\"", prefix, "\"): v")));
}

// The dtype of the file, if it has this model in another one.
std::optional<DType> dtype_in(const SavedTensors& file, const std::vector<Expected>& model) {
  std::optional<DType> dtype;
  for (const Expected& mine : model) {
    const TensorEntry* saved = file.find(mine.name);
    if (saved == nullptr || saved->shape != mine.shape) return std::nullopt;
    if (dtype && *dtype != saved->dtype) return std::nullopt;
    dtype = saved->dtype;
  }
  return dtype;
}

std::string told_of_dtype(const SavedTensors& file, DType dtype) {
  if (dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16) {
    return text("pass --dtype ", name_of(dtype), ", or convert the file");
  }
  return "models are trained in float32, float64 and bfloat16; to convert it, " +
         in_python(file, "k: v.float()");
}

// Tells what made the model of the file, where the file says it; its first tensors where it does
// not.
std::string told_of_model(const SavedTensors& file) {
  std::string list;
  if (file.metadata().contains("model")) {
    for (const auto& [key, value] : file.metadata()) {
      list += text(list.empty() ? "" : ", ", key, " ", value);
    }
    return "its metadata says " + list + ": pass the options that make this model";
  }
  constexpr std::size_t shown = 3;
  for (const TensorEntry& tensor : file.tensors().first(std::min(shown, file.tensors().size()))) {
    list += text(list.empty() ? "" : ", ", quoted(tensor.name), " ",
                 kind_of(tensor.dtype, tensor.shape));
  }
  return text("the file does not say how its model is made; it has ", file.tensors().size(),
              " tensors", list.empty() ? "" : ", the first of them ", list,
              ": pass the options that make such a model");
}

// Says what to do about a file that does not fit.
std::string advice_on(const SavedTensors& file, const std::vector<Expected>& model) {
  if (const std::string prefix = prefix_in(file, model); !prefix.empty()) {
    return told_of_prefix(file, prefix);
  }
  const auto dtype = dtype_in(file, model);
  if (dtype && *dtype != model.front().dtype) return told_of_dtype(file, *dtype);
  return told_of_model(file);
}

[[noreturn]] void refuse(const SavedTensors& file, nn::Module& module, const std::string& why) {
  const std::vector<Expected> model = expected_of(module);
  throw CheckpointError(
      text(file.path(), " does not fit this model: ", why, "; ", advice_on(file, model)));
}

}  // namespace

std::unique_ptr<const SavedTensors> open_weights(const Storage& storage,
                                                 const std::string& checkpoint) {
  return std::make_unique<IndexedTensors>(storage, checkpoint,
                                          read_index(storage, checkpoint, Reads::model), Of::model);
}

std::vector<NamedTensor> tensors_of(nn::Module& model) {
  std::vector<NamedTensor> tensors;
  for (const Parameter* parameter : model.parameters()) {
    tensors.push_back({parameter->name, parameter->value});
  }
  for (const nn::Buffer* buffer : model.buffers()) tensors.push_back({buffer->name, buffer->value});
  return tensors;
}

void check_part_of_model(const SavedTensors& file, nn::Module& part) {
  for (const Expected& mine : expected_of(part)) {
    const TensorEntry* saved = file.find(mine.name);
    const std::string kind = kind_of(mine.dtype, mine.shape);
    if (saved == nullptr)
      refuse(file, part, text("it has no ", quoted(mine.name), ", here ", kind));
    if (saved->dtype != mine.dtype || saved->shape != mine.shape) {
      refuse(file, part,
             text(quoted(mine.name), " is ", kind_of(saved->dtype, saved->shape),
                  " in the file and ", kind, " here"));
    }
  }
}

void check_same_model(const SavedTensors& file, nn::Module& module) {
  check_part_of_model(file, module);
  const auto model = expected_of(module);
  for (const TensorEntry& saved : file.tensors()) {
    if (std::ranges::find(model, saved.name, &Expected::name) == model.end()) {
      refuse(file, module,
             text("it has ", quoted(saved.name), ", ", kind_of(saved.dtype, saved.shape),
                  ", which is not here"));
    }
  }
}

void read_weights(const SavedTensors& file, nn::Module& model) {
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
