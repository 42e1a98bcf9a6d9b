#include "engine/checkpoint/indexed_tensors.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/sharded_checkpoint.hpp"

namespace lockstep::checkpoint {
namespace {

// The verified blocks of one saved box, some at a time.
class Blocks {
 public:
  Blocks(const Storage& storage, const std::string& folder, const IndexedFile& file,
         const IndexedTensor& tensor, const SavedBox& box)
      : storage_(storage),
        name_(within(folder, file.name)),
        tensor_(tensor),
        box_(box),
        size_(static_cast<std::uint64_t>(numel_of(box.box)) * bytes_of(tensor.dtype)) {}

  // The bytes from `from` on, in the box.
  void copy(std::uint64_t from, std::span<std::byte> into) {
    if (box_.checksums.empty()) {  // of an older checkpoint
      return storage_.read(name_, box_.offset + from, into);
    }
    while (!into.empty()) {
      if (from < begin_ || from >= begin_ + bytes_.size()) read(from, into.size());
      const auto found = std::span(bytes_).subspan(from - begin_);
      const std::size_t some = std::min(into.size(), found.size());
      std::ranges::copy(found.first(some), into.begin());
      into = into.subspan(some);
      from += some;
    }
  }

 private:
  static constexpr std::uint64_t blocks_at_once = 16;

  // The blocks in which `bytes` from `from` on lie, as far as they are read at once.
  void read(std::uint64_t from, std::uint64_t bytes) {
    const std::uint64_t first = from / block_bytes;
    const std::uint64_t last =
        std::min((from + bytes - 1) / block_bytes, first + blocks_at_once - 1);
    begin_ = first * block_bytes;
    bytes_.resize(std::min((last + 1) * block_bytes, size_) - begin_);
    storage_.read(name_, box_.offset + begin_, bytes_);
    const auto seen = checksums_of_blocks(bytes_);
    for (std::uint64_t block = first; block <= last; ++block) {
      if (seen[block - first] == box_.checksums[block]) continue;
      const std::uint64_t at = box_.offset + block * block_bytes;
      throw CheckpointError(
          text(storage_.told(name_), ": bytes ", at, " to ",
               std::min(at + block_bytes, box_.offset + size_), ", of tensor ",
               quoted(tensor_.name), " ", text_of(box_.box),
               ", are not those that were saved: the file was changed or damaged; go on from an "
               "older checkpoint"));
    }
  }

  const Storage& storage_;
  std::string name_;
  const IndexedTensor& tensor_;
  const SavedBox& box_;
  std::uint64_t size_;
  std::uint64_t begin_ = 0;  // of bytes_, in the box
  Bytes bytes_;
};

}  // namespace

IndexedTensors::IndexedTensors(const Storage& storage, std::string folder,
                               std::shared_ptr<const Index> index, Of of)
    : storage_(storage), folder_(std::move(folder)), index_(std::move(index)) {
  std::uint64_t place = 0;
  std::set<std::size_t> files;
  for (const IndexedTensor& tensor : index_->tensors) {
    if ((tensor.kind == PieceKind::optimizer_state) != (of == Of::optimizer)) continue;
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(numel_of(tensor.shape)) * bytes_of(tensor.dtype);
    entries_.push_back({tensor.name, tensor.dtype, tensor.shape, place, place + bytes});
    tensors_.push_back(&tensor);
    for (const SavedBox& saved : tensor.boxes) files.insert(saved.file);
    place += bytes;
  }
  metadata_ = of == Of::model ? index_->model : Metadata{{"kind", index_->optimizer}};
  path_ = storage_.told(
      within(folder_, files.size() == 1 ? index_->files[*files.begin()].name : index_file));
  remember_names();
}

void IndexedTensors::read(const TensorEntry& entry, const Boxes& boxes,
                          std::span<std::byte> into) const {
  const IndexedTensor& tensor = *tensors_[static_cast<std::size_t>(&entry - entries_.data())];
  std::vector<Box> saved;
  for (const SavedBox& one : tensor.boxes) saved.push_back(one.box);
  const std::size_t element_bytes = bytes_of(tensor.dtype);
  std::optional<Blocks> blocks;  // of the box that is being read
  int source = -1;               // which box that is
  const auto read_stretch = [&](const Stretch& from, std::span<std::byte> part) {
    if (from.source != source) {
      source = from.source;
      const SavedBox& box = tensor.boxes[static_cast<std::size_t>(source)];
      blocks.emplace(storage_, folder_, index_->files[box.file], tensor, box);
    }
    blocks->copy(static_cast<std::uint64_t>(from.offset) * element_bytes, part);
  };
  read_boxes(saved, boxes, element_bytes, read_stretch, into);
}

}  // namespace lockstep::checkpoint
