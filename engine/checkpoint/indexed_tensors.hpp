// The tensors of an index that are of one kind, read from the storage that has them. Private to
// this room.
#pragma once

#include <memory>

#include "engine/checkpoint/index.hpp"
#include "engine/checkpoint/saved_tensors.hpp"

namespace lockstep::checkpoint {

class IndexedTensors final : public SavedTensors {
 public:
  //   storage  must outlive this object
  //   folder   of the checkpoint
  IndexedTensors(const Storage& storage, std::string folder, std::shared_ptr<const Index> index,
                 Of of);

  // The file that has all of them, or the index where several have.
  std::string path() const override { return path_; }
  std::span<const TensorEntry> tensors() const override { return entries_; }
  const Metadata& metadata() const override { return metadata_; }

 private:
  // Reads blocks of the boxes that have elements of `boxes`, verifies each, and nothing else. A
  // block is read once, unless boxes come back to it.
  void read(const TensorEntry& entry, const Boxes& boxes, std::span<std::byte> into) const override;

  const Storage& storage_;
  std::string folder_, path_;
  std::shared_ptr<const Index> index_;
  std::vector<TensorEntry> entries_;
  std::vector<const IndexedTensor*> tensors_;  // of each entry
  Metadata metadata_;
};

}  // namespace lockstep::checkpoint
