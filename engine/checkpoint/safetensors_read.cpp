// A header is read event by event, because a parser that builds a document keeps the last of two
// equal keys in silence, and here that may be another tensor.
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>

#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/safetensors_words.hpp"

namespace lockstep::checkpoint {
namespace {

std::string known_words() {
  std::string list;
  for (const Word& word : words) list += text(list.empty() ? "" : " ", word.word);
  return list;
}

// Collects what the header says, and refuses what no header says. Depth: 1 the header, 2 a tensor
// or the metadata, 3 a list of numbers.
class HeaderEvents final : public Json::json_sax_t {
 public:
  explicit HeaderEvents(const std::string& file) : file_(file) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (depth_ == 0) return enter();
    if (depth_ != 1) refuse("an object inside it");
    in_metadata_ = key_ == metadata_key;
    if (!in_metadata_) header_.tensors.push_back({key_, {}, {}, 0, 0});
    seen_ = {};
    return enter();
  }
  bool end_object() override {
    --depth_;
    if (depth_ == 1 && !in_metadata_) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if (!seen_.contains(field)) refuse(text("no ", field));
      }
    }
    return true;
  }
  bool key(std::string& name) override {
    auto& names = depth_ == 1 ? names_ : seen_;
    if (depth_ == 2 && !in_metadata_ && name != "dtype" && name != "shape" &&
        name != "data_offsets") {
      refuse(text("the field ", quoted(name), "; a tensor has dtype, shape and data_offsets"));
    }
    if (depth_ == 1) in_tensor_ = name;
    if (!names.insert(name).second) {
      refuse(depth_ == 1 ? "the same name twice" : text("the field ", quoted(name), " twice"));
    }
    (depth_ == 1 ? key_ : field_) = name;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || field_ == "dtype") refuse("a list where none belongs");
    numbers_.clear();
    return enter();
  }
  bool end_array() override {
    --depth_;
    TensorEntry& tensor = header_.tensors.back();
    if (field_ == "shape") {
      if (numbers_.size() > Shape::axes_max) {
        refuse(text("a shape of ", numbers_.size(), " axes, where ", Shape::axes_max,
                    " are the most"));
      }
      tensor.shape.clear();
      for (const std::uint64_t size : numbers_) {
        if (size > static_cast<std::uint64_t>(INT64_MAX)) refuse(text("a size of ", size));
        tensor.shape.push_back(static_cast<std::int64_t>(size));
      }
    } else {
      if (numbers_.size() != 2) refuse(text(numbers_.size(), " data_offsets, not two"));
      tensor.begin = numbers_[0];
      tensor.end = numbers_[1];
    }
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ == 2 && in_metadata_) {
      header_.metadata[field_] = value;
    } else if (depth_ == 2 && field_ == "dtype") {
      header_.tensors.back().dtype = dtype_of(value);
    } else {
      refuse(text("the text ", quoted(value), " where none belongs"));
    }
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (depth_ != 3) refuse(text("the number ", value, " where none belongs"));
    if (numbers_.size() == dimensions_max) refuse(text("more than ", dimensions_max, " numbers"));
    numbers_.push_back(value);
    return true;
  }
  bool number_integer(std::int64_t value) override {
    refuse(text("the number ", value, "; sizes and offsets are not negative"));
  }
  bool number_float(double, const std::string& digits) override {
    refuse(text("the number ", quoted(digits), "; sizes and offsets are whole and below 2^64"));
  }
  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("true or false"); }
  bool binary(Json::binary_t&) override { refuse("binary data"); }
  bool parse_error(std::size_t at, const std::string&, const Json::exception& why) override {
    throw CheckpointError(
        text(file_, ": the header is no JSON at its byte ", at, " (", quoted(why.what()), ")"));
  }

 private:
  bool enter() {
    ++depth_;
    return true;
  }
  [[noreturn]] void refuse(const std::string& seen) const {
    const std::string where = depth_ == 0                  ? "the header"
                              : in_tensor_ == metadata_key ? metadata_key
                              : in_tensor_.empty()         ? "a tensor"
                                                           : text("tensor ", quoted(in_tensor_));
    throw CheckpointError(text(file_, ": ", where, " has ", seen));
  }
  DType dtype_of(const std::string& word) const {
    const auto at = std::ranges::find(words, word, &Word::word);
    if (at == words.end()) {
      refuse(text("dtype ", quoted(word), "; the engine reads ", known_words()));
    }
    return at->dtype;
  }

  const std::string& file_;
  SafetensorsHeader header_;
  int depth_ = 0;
  bool in_metadata_ = false;
  std::string key_, field_, in_tensor_;
  std::set<std::string> names_, seen_;
  std::vector<std::uint64_t> numbers_;
};

// The bytes that dtype and shape ask for, or nothing when 63 bits cannot count them.
std::optional<std::uint64_t> bytes_asked(const TensorEntry& tensor) {
  std::int64_t bytes = static_cast<std::int64_t>(bytes_of(tensor.dtype));
  bool empty = false, overflow = false;
  for (const std::int64_t size : tensor.shape) {
    empty = empty || size == 0;
    overflow = overflow || (size > 0 && __builtin_mul_overflow(bytes, size, &bytes));
  }
  if (overflow) return std::nullopt;  // also beside a zero: the engine would refuse such a shape
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

void check_places(std::span<const TensorEntry> tensors, std::uint64_t data_bytes,
                  const std::string& file) {
  std::uint64_t place = 0;
  for (const TensorEntry& tensor : tensors) {
    const auto refuse = [&](const std::string& why) {
      throw CheckpointError(text(file, ": tensor ", quoted(tensor.name), " ", why));
    };
    const std::string kind = text(name_of(tensor.dtype), " ", text_of(tensor.shape));
    const std::string offsets = text("[", tensor.begin, ", ", tensor.end, "]");
    const auto bytes = bytes_asked(tensor);
    if (!bytes) refuse(text("is ", kind, ", more bytes than 63 bits can count"));
    if (tensor.end < tensor.begin || tensor.end - tensor.begin != *bytes) {
      refuse(text("is ", kind, ", which is ", *bytes, " bytes, but has data_offsets ", offsets));
    }
    if (tensor.begin != place) {
      refuse(text("has data_offsets ", offsets, ", but byte ", place, " is the next that ",
                  tensor.begin < place ? "no tensor has" : "must belong to a tensor"));
    }
    if (tensor.end > data_bytes) {
      refuse(text("has data_offsets ", offsets, ", but the file has ", data_bytes,
                  " bytes after the header; is it cut off?"));
    }
    place = tensor.end;
  }
  if (place != data_bytes) {
    throw CheckpointError(text(file, ": the tensors end at byte ", place, " after the header, but ",
                               data_bytes, " bytes are there; nothing may follow the last tensor"));
  }
}

}  // namespace

std::uint64_t header_length(std::span<const std::byte> first, std::uint64_t file_bytes,
                            const std::string& file) {
  if (file_bytes < 8 || first.size() < 8) {
    throw CheckpointError(text(file, ": ", file_bytes,
                               " bytes are no safetensors file; 8 bytes of ", "length come first"));
  }
  std::uint64_t length;
  std::memcpy(&length, first.data(), sizeof length);
  static_assert(std::endian::native == std::endian::little);
  if (length > header_bytes_max) {
    throw CheckpointError(text(file, ": a header of ", length, " bytes; ", header_bytes_max,
                               " at most are read. Is it a safetensors file?"));
  }
  if (length > file_bytes - 8) {
    throw CheckpointError(text(file, ": a header of ", length, " bytes, but only ", file_bytes - 8,
                               " follow; is it cut off?"));
  }
  return length;
}

SafetensorsHeader parse_header(std::span<const std::byte> json, std::uint64_t data_bytes,
                               const std::string& file) {
  const auto* begin = reinterpret_cast<const char*>(json.data());
  if (json.empty() || *begin != '{') {
    throw CheckpointError(text(file, ": the header begins with ",
                               json.empty() ? "nothing" : quoted(std::string(1, *begin)),
                               ", not with {. Is it a safetensors file?"));
  }
  // The parser would take a zero byte for the end of the text, and what follows would be read by
  // nobody.
  if (std::ranges::find(json, std::byte{0}) != json.end()) {
    throw CheckpointError(text(file, ": a zero byte stands in the header, which is text"));
  }
  HeaderEvents events(file);
  Json::sax_parse(begin, begin + json.size(), &events);
  SafetensorsHeader header = events.take();
  // Empty tensors stand before what begins at the same byte; among them, names in order.
  std::ranges::sort(header.tensors, {}, [](const TensorEntry& tensor) {
    return std::tie(tensor.begin, tensor.end, tensor.name);
  });
  check_places(header.tensors, data_bytes, file);
  return header;
}

}  // namespace lockstep::checkpoint
