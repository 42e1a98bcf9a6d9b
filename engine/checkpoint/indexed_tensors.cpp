#include "engine/checkpoint/indexed_tensors.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/checkpoint/reshard_plan.hpp"
#include "engine/checkpoint/safetensors.hpp"

namespace lockstep::checkpoint {
namespace {

// Bytes of a saved box, and where they go.
struct Copy {
  std::uint64_t from = 0, to = 0, bytes = 0;
};

// The copies out of each saved box, by their places in the box.
std::vector<std::vector<Copy>> copies_of(const IndexedTensor& tensor, const Boxes& wanted) {
  ShardPlan saved;
  for (const SavedBox& one : tensor.boxes) saved.push_back({one.box});
  std::vector<std::vector<Copy>> copies(saved.size());
  std::uint64_t to = 0;
  for (const Stretch& one : reshard(saved, {wanted}, 0)) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(one.length) * bytes_of(tensor.dtype);
    const std::uint64_t from = static_cast<std::uint64_t>(one.offset) * bytes_of(tensor.dtype);
    copies[static_cast<std::size_t>(one.source)].push_back({from, to, bytes});
    to += bytes;
  }
  for (auto& of_box : copies) std::ranges::sort(of_box, {}, &Copy::from);
  return copies;
}

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

  void copy(Copy one, std::span<std::byte> into) {
    if (box_.checksums.empty()) {  // of an older checkpoint
      return storage_.read(name_, box_.offset + one.from, into.subspan(one.to, one.bytes));
    }
    while (one.bytes > 0) {
      if (one.from < begin_ || one.from >= begin_ + bytes_.size()) read(one);
      const std::uint64_t skipped = one.from - begin_;
      const std::uint64_t some = std::min<std::uint64_t>(one.bytes, bytes_.size() - skipped);
      std::ranges::copy(std::span(bytes_).subspan(skipped, some),
                        into.begin() + static_cast<std::ptrdiff_t>(one.to));
      one = {one.from + some, one.to + some, one.bytes - some};
    }
  }

 private:
  static constexpr std::uint64_t blocks_at_once = 16;

  // The blocks in which `one` lies, as far as they are read at once.
  void read(const Copy& one) {
    const std::uint64_t first = one.from / block_bytes;
    const std::uint64_t last =
        std::min((one.from + one.bytes - 1) / block_bytes, first + blocks_at_once - 1);
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
  const auto copies = copies_of(tensor, boxes);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const SavedBox& box = tensor.boxes[i];
    Blocks blocks(storage_, folder_, index_->files[box.file], tensor, box);
    for (const Copy& one : copies[i]) blocks.copy(one, into);
  }
}

}  // namespace lockstep::checkpoint
