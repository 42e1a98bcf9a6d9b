// Named tensors that were saved, and are read in parts: from one file of them, or in boxes from
// what many ranks wrote.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor/box.hpp"

namespace lockstep::checkpoint {

using Metadata = std::map<std::string, std::string>;

struct NamedTensor {
  std::string name;
  Tensor value;
};

// One saved tensor: a view that has no elements yet.
struct TensorEntry {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t begin, end;  // bytes, among those of all tensors one after the other
  bool operator==(const TensorEntry&) const = default;
};

class SavedTensors {
 public:
  virtual ~SavedTensors() = default;
  virtual std::string path() const = 0;  // for messages
  virtual std::span<const TensorEntry> tensors() const = 0;
  virtual const Metadata& metadata() const = 0;
  // Nothing when no tensor has this name. Lives as long as this object.
  const TensorEntry* find(const std::string& name) const;

  // The elements of an entry, in a new tensor.
  Tensor load(const TensorEntry& entry, Device& device,
              MemoryKind kind = MemoryKind::buffers) const;
  // The elements of an entry, into one of its dtype and number of elements.
  //   Throws  ContractError when `into` is another
  void load_into(const TensorEntry& entry, const Tensor& into) const;
  // The elements of boxes of an entry, one box after the other.
  //   Throws  ContractError when the entry has another dtype, or `into` another number of elements;
  //           CheckpointError when they cannot be read, or are not those that were saved
  void load_boxes(const TensorEntry& entry, const Boxes& boxes, const Tensor& into) const;

 protected:
  // Called once by whoever has read the entries.
  void remember_names();
  // As load_boxes, into memory that this process reads, of as many bytes.
  virtual void read(const TensorEntry& entry, const Boxes& boxes,
                    std::span<std::byte> into) const = 0;

 private:
  std::map<std::string, std::size_t> places_;  // name → place in tensors()
};

}  // namespace lockstep::checkpoint
