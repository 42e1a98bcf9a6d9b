// Writing is planned first: the order and the places of all tensors, from which the header follows.
#include <algorithm>
#include <cstring>
#include <set>

#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/safetensors_words.hpp"

namespace lockstep::checkpoint {
namespace {

// Negative when `a` is written before `b`.
int compare_by_width(DType a, DType b) {
  return static_cast<int>(std::ranges::find(words, a, &Word::dtype) -
                          std::ranges::find(words, b, &Word::dtype));
}

std::string in_json(const std::string& value) {
  try {
    return Json(value).dump();
  } catch (const Json::type_error&) {
    LOCKSTEP_CHECK(false, "safetensors: ", quoted(value), " is no UTF-8, which JSON cannot hold");
  }
  return {};
}

}  // namespace

std::string header_text(const SafetensorsHeader& header) {
  std::string json;
  std::set<std::string> names = {metadata_key};
  const auto add = [&](const std::string& name, const std::string& value) {
    json += text(json.empty() ? "{" : ",", in_json(name), ":", value);
  };
  if (!header.metadata.empty()) {
    std::string strings;
    for (const auto& [key, value] : header.metadata) {
      strings += text(strings.empty() ? "{" : ",", in_json(key), ":", in_json(value));
    }
    add(metadata_key, strings + "}");
  }
  for (const TensorEntry& tensor : header.tensors) {
    LOCKSTEP_CHECK(names.insert(tensor.name).second, "safetensors: the name ", quoted(tensor.name),
                   " is there twice or is the metadata's; give each tensor its own");
    const auto word = std::ranges::find(words, tensor.dtype, &Word::dtype);
    add(tensor.name, text("{\"dtype\":\"", word->word, "\",\"shape\":", Json(tensor.shape).dump(),
                          ",\"data_offsets\":[", tensor.begin, ",", tensor.end, "]}"));
  }
  json += json.empty() ? "{}" : "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = json.size();
  LOCKSTEP_CHECK(length <= header_bytes_max, "safetensors: a header of ", length,
                 " bytes, and no reader takes more than ", header_bytes_max,
                 "; save fewer tensors or shorter metadata");
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + json;
}

SafetensorsHeader header_of(std::span<const NamedTensor> tensors, const Metadata& metadata) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::ranges::sort(order, [](const NamedTensor* a, const NamedTensor* b) {
    const int by_dtype = compare_by_width(a->value.dtype(), b->value.dtype());
    return by_dtype != 0 ? by_dtype < 0 : a->name < b->name;
  });
  SafetensorsHeader header{{}, metadata};
  std::uint64_t place = 0;
  for (const NamedTensor* tensor : order) {
    const std::uint64_t end = place + tensor->value.bytes();
    header.tensors.push_back(
        {tensor->name, tensor->value.dtype(), tensor->value.shape(), place, end});
    place = end;
  }
  return header;
}

void write_safetensors(const std::filesystem::path& file, std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  const SafetensorsHeader header = header_of(tensors, metadata);
  const std::string first = header_text(header);
  NewFile out(file);
  out.write(first);
  for (const TensorEntry& entry : header.tensors) {
    const auto tensor = std::ranges::find(tensors, entry.name, &NamedTensor::name);
    out.write(to_host(tensor->value).raw_bytes());
  }
  out.commit();
}

}  // namespace lockstep::checkpoint
