#include "engine/checkpoint/saved_tensors.hpp"

#include "engine/checkpoint/safetensors.hpp"
#include "engine/tensor/kernels.hpp"

namespace lockstep::checkpoint {

const TensorEntry* SavedTensors::find(const std::string& name) const {
  const auto at = places_.find(name);
  return at == places_.end() ? nullptr : &tensors()[at->second];
}

Tensor SavedTensors::load(const TensorEntry& entry, Device& device, MemoryKind kind) const {
  Tensor tensor = empty(entry.shape, entry.dtype, device, kind);
  load_into(entry, tensor);
  return tensor;
}

void SavedTensors::load_into(const TensorEntry& entry, const Tensor& into) const {
  LOCKSTEP_CHECK(into.dtype() == entry.dtype && into.numel() == numel_of(entry.shape),
                 "load_into: ", path(), " has ", quoted(entry.name), " as ", name_of(entry.dtype),
                 " ", text_of(entry.shape), ", which does not fit into ", name_of(into.dtype()),
                 " ", text_of(into.shape()));
  load_boxes(entry, whole_of(entry.shape), into);
}

void SavedTensors::load_boxes(const TensorEntry& entry, const Boxes& boxes,
                              const Tensor& into) const {
  LOCKSTEP_CHECK(into.dtype() == entry.dtype && into.numel() == numel_of(boxes),
                 "load_boxes: ", path(), " has ", quoted(entry.name), " as ", name_of(entry.dtype),
                 ", and ", numel_of(boxes), " elements of it are asked for, which do not fit into ",
                 name_of(into.dtype()), " ", text_of(into.shape()));
  Device& device = into.device();
  const Tensor here = device.on_host() ? into : empty(into.shape(), into.dtype(), device.host());
  read(entry, boxes, here.raw_bytes());
  if (!device.on_host()) device.kernels().upload(here.raw_bytes(), into);
}

void SavedTensors::remember_names() {
  for (std::size_t i = 0; i < tensors().size(); ++i) places_[tensors()[i].name] = i;
}

}  // namespace lockstep::checkpoint
