#include "engine/checkpoint/index.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "engine/base/bytes.hpp"
#include "engine/checkpoint/safetensors_words.hpp"
#include "engine/checkpoint/train_state.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr const char* format = "lockstep checkpoint 1";
constexpr std::array<const char*, 3> kinds{"parameter", "buffer", "optimizer state"};
constexpr int levels = 7;           // a number in a list of a box, in a list of a tensor, in a list
constexpr std::size_t digits = 16;  // of a checksum

std::string in_digits(const std::vector<std::uint64_t>& checksums) {
  std::string all;
  for (const std::uint64_t checksum : checksums) {
    std::array<char, digits> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + digits, checksum, 16).ptr;
    all.append(digits - static_cast<std::size_t>(end - buffer.data()), '0');
    all.append(buffer.data(), end);
  }
  return all;
}

std::vector<std::uint64_t> from_digits(Fields& fields, std::size_t count) {
  const std::string all = fields.word("checksums");
  std::vector<std::uint64_t> checksums(count);
  bool reads = all.size() == count * digits;
  for (std::size_t i = 0; reads && i < count; ++i) {
    const char* const first = all.data() + i * digits;
    const auto [end, error] = std::from_chars(first, first + digits, checksums[i], 16);
    reads = error == std::errc() && end == first + digits;
  }
  if (!reads) fields.refuse(text(count, " checksums of ", digits, " hexadecimal digits"), all);
  return checksums;
}

Json json_of(const IndexedTensor& tensor) {
  Json boxes = Json::array();
  for (const SavedBox& saved : tensor.boxes) {
    boxes.push_back({{"begin", saved.box.begin},
                     {"end", saved.box.end},
                     {"file", saved.file},
                     {"offset", saved.offset},
                     {"checksums", in_digits(saved.checksums)}});
  }
  return {{"name", tensor.name},
          {"kind", kinds.at(static_cast<std::size_t>(tensor.kind))},
          {"dtype", std::ranges::find(words, tensor.dtype, &Word::dtype)->word},
          {"shape", tensor.shape},
          {"boxes", std::move(boxes)}};
}

// The elements' bytes, or nothing when 63 bits cannot count them.
std::optional<std::uint64_t> bytes_asked(const IndexedTensor& tensor) {
  std::int64_t bytes = static_cast<std::int64_t>(bytes_of(tensor.dtype));
  for (const std::int64_t size : tensor.shape) {
    if (size > 0 && __builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(bytes);
}

SavedBox box_of(const Json& json, const IndexedTensor& tensor, const Index& index,
                const std::string& where) {
  Fields fields(json, where);
  SavedBox saved{{fields.sizes("begin"), fields.sizes("end")}, 0, fields.bits("offset"), {}};
  const Box& box = saved.box;
  bool inside = box.begin.size() == tensor.shape.size() && box.end.size() == tensor.shape.size();
  for (std::size_t i = 0; inside && i < tensor.shape.size(); ++i) {
    inside = box.begin[i] < box.end[i] && box.end[i] <= tensor.shape[i];
  }
  if (!inside) fields.refuse(text("a box in ", text_of(tensor.shape)), json);
  const std::uint64_t file = fields.bits("file");
  if (file >= index.files.size()) {
    fields.refuse(text("one of ", index.files.size(), " files, counted from 0"), json);
  }
  saved.file = static_cast<std::size_t>(file);
  const std::uint64_t bytes = static_cast<std::uint64_t>(numel_of(box)) * bytes_of(tensor.dtype);
  const IndexedFile& in = index.files[saved.file];
  if (bytes > in.bytes || saved.offset > in.bytes - bytes) {
    throw CheckpointError(text(where, ": box ", text_of(box), " has ", bytes, " bytes from byte ",
                               saved.offset, " of ", in.name, " on, which has only ", in.bytes));
  }
  saved.checksums = from_digits(fields, (bytes + block_bytes - 1) / block_bytes);
  fields.done();
  return saved;
}

// The first place of the flat tensor that no box has.
std::int64_t first_hole(const IndexedTensor& tensor) {
  Boxes missing = whole_of(tensor.shape);
  for (const SavedBox& saved : tensor.boxes) take(missing, {saved.box});
  std::int64_t first = numel_of(tensor.shape);
  for (const Box& box : missing) {
    for_runs(tensor.shape, box,
             [&](std::int64_t at, std::int64_t) { first = std::min(first, at); });
  }
  return first;
}

// Invariant 3. Boxes that begin behind the end of another, on the first axis, are not compared.
void check_cover(const IndexedTensor& tensor, const std::string& where, Covers covers) {
  std::vector<const Box*> order;
  std::int64_t held = 0;
  for (const SavedBox& saved : tensor.boxes) {
    order.push_back(&saved.box);
    held += numel_of(saved.box);
  }
  const auto first_axis = [](const Shape& place) { return place.empty() ? 0 : place.front(); };
  std::ranges::stable_sort(order, {}, [&](const Box* box) { return first_axis(box->begin); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (!tensor.shape.empty() && order[j]->begin.front() >= order[i]->end.front()) break;
      if (!intersection(*order[i], *order[j])) continue;
      throw CheckpointError(text(where, ": the boxes ", text_of(*order[i]), " and ",
                                 text_of(*order[j]), " overlap; each element is saved once"));
    }
  }
  if (covers == Covers::share || held == numel_of(tensor.shape)) return;
  throw CheckpointError(text(where, ": no box has place ", first_hole(tensor), " of ",
                             numel_of(tensor.shape),
                             "; a rank's share is missing: go on from an older checkpoint"));
}

IndexedTensor tensor_of(const Json& json, const Index& index, const std::string& file,
                        Covers covers) {
  Fields fields(json, file);
  IndexedTensor tensor{.name = fields.word("name"), .shape = fields.sizes("shape")};
  const std::string where = text(file, ": tensor ", quoted(tensor.name));
  const std::string kind = fields.word("kind"), dtype = fields.word("dtype");
  const auto of_kind = std::ranges::find(kinds, kind);
  const auto of_dtype = std::ranges::find(words, dtype, &Word::word);
  if (of_kind == kinds.end()) fields.refuse("kind as parameter, buffer or optimizer state", kind);
  if (of_dtype == words.end()) fields.refuse("a dtype that the engine has", dtype);
  tensor.kind = static_cast<PieceKind>(of_kind - kinds.begin());
  tensor.dtype = of_dtype->dtype;
  if (!bytes_asked(tensor)) {
    throw CheckpointError(text(where, " is ", dtype, " ", text_of(tensor.shape),
                               ", more bytes than 63 bits can count"));
  }
  for (const Json& box : fields.list("boxes")) {
    tensor.boxes.push_back(box_of(box, tensor, index, where));
  }
  fields.done();
  check_cover(tensor, where, covers);
  return tensor;
}

IndexedFile file_of(const Json& json, const std::string& where) {
  Fields fields(json, where);
  IndexedFile file{fields.word("name"), fields.bits("bytes")};
  fields.done();
  const bool plain = !file.name.empty() && file.name.find('/') == std::string::npos &&
                     file.name.front() != '.' && file.name != index_file &&
                     file.name.find('\0') == std::string::npos;
  if (!plain) fields.refuse("a file of the checkpoint's folder", json);
  return file;
}

}  // namespace

std::vector<std::uint64_t> checksums_of_blocks(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> checksums;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(bytes.size(), block_bytes))) {
    checksums.push_back(checksum_of(bytes.first(std::min<std::size_t>(bytes.size(), block_bytes))));
  }
  return checksums;
}

// A line for each file and each tensor, so that people can read it and compare two of them.
std::string index_text(const Index& index) {
  const auto lines = [](const auto& all, const auto& line_of) {
    std::string list;
    for (const auto& one : all) list += text(list.empty() ? "\n  " : ",\n  ", line_of(one).dump());
    return "[" + list + "]";
  };
  return text("{\"format\": ", Json(format).dump(), ",\n\"state\": ", json_of(index.state).dump(),
              ",\n\"model\": ", Json(index.model).dump(),
              ",\n\"optimizer\": ", Json(index.optimizer).dump(),
              ",\n\"block_bytes\": ", block_bytes, ",\n\"files\": ",
              lines(index.files,
                    [](const IndexedFile& file) {
                      return Json{{"name", file.name}, {"bytes", file.bytes}};
                    }),
              ",\n\"tensors\": ",
              lines(index.tensors, [](const IndexedTensor& tensor) { return json_of(tensor); }),
              "}\n");
}

Index parse_index(const std::string& json, const std::string& where, Covers covers) {
  const Json parsed = parse_json(json, where, levels);
  Fields fields(parsed, where);
  check_format(fields, format, where);
  Index index{.state = train_state_of(fields.any("state"), where),
              .model = fields.strings("model"),
              .optimizer = fields.word("optimizer")};
  if (const std::uint64_t bytes = fields.bits("block_bytes"); bytes != block_bytes) {
    fields.refuse(text(block_bytes, " block_bytes"), bytes);
  }
  std::set<std::string> files;
  for (const Json& file : fields.list("files")) {
    index.files.push_back(file_of(file, where));
    if (!files.insert(index.files.back().name).second) fields.refuse("each file once", file);
  }
  std::set<std::pair<bool, std::string>> names;
  for (const Json& tensor : fields.list("tensors")) {
    index.tensors.push_back(tensor_of(tensor, index, where, covers));
    const IndexedTensor& read = index.tensors.back();
    if (!names.insert({read.kind == PieceKind::optimizer_state, read.name}).second) {
      throw CheckpointError(text(where, ": tensor ", quoted(read.name), " is there twice"));
    }
  }
  fields.done();
  return index;
}

Index joined(const std::vector<Index>& shares, const std::string& where) {
  if (shares.empty()) {
    throw CheckpointError(text(where,
                               ": no element was written by anybody: the list of shares is "
                               "empty, and it needs what write_share returned on each "
                               "writer"));
  }
  Index whole = shares.front();
  std::map<std::pair<PieceKind, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    places[{whole.tensors[i].kind, whole.tensors[i].name}] = i;
  }
  for (std::size_t rank = 1; rank < shares.size(); ++rank) {
    const std::size_t files = whole.files.size();
    whole.files.insert(whole.files.end(), shares[rank].files.begin(), shares[rank].files.end());
    for (IndexedTensor tensor : shares[rank].tensors) {
      for (SavedBox& box : tensor.boxes) box.file += files;
      const auto [at, is_new] =
          places.try_emplace({tensor.kind, tensor.name}, whole.tensors.size());
      if (is_new) {
        whole.tensors.push_back(std::move(tensor));
        continue;
      }
      IndexedTensor& there = whole.tensors[at->second];
      if (there.dtype != tensor.dtype || there.shape != tensor.shape) {
        throw CheckpointError(text(where, ": tensor ", quoted(tensor.name), " is ",
                                   name_of(there.dtype), " ", text_of(there.shape),
                                   " on one rank and ", name_of(tensor.dtype), " ",
                                   text_of(tensor.shape), " on rank ", rank));
      }
      there.boxes.insert(there.boxes.end(), tensor.boxes.begin(), tensor.boxes.end());
    }
  }
  for (const IndexedTensor& tensor : whole.tensors) {
    check_cover(tensor, text(where, ": tensor ", quoted(tensor.name)), Covers::all);
  }
  std::ranges::stable_sort(whole.tensors, {}, &IndexedTensor::kind);
  return whole;
}

}  // namespace lockstep::checkpoint
