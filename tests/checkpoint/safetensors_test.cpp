#include "engine/checkpoint/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"

using namespace lockstep;
using checkpoint::Metadata;
using checkpoint::NamedTensor;
using checkpoint::SafetensorsFile;
using checkpoint::TensorEntry;
using checkpoint::write_safetensors;
using lockstep::test::contains;
using lockstep::test::content_of;
using lockstep::test::Folder;

namespace {

// Elements of every bit pattern, NaNs of any payload among them: a file is bits, not numbers.
Tensor random_bits_of(Shape shape, DType dtype, Device& device, unsigned seed) {
  const Tensor tensor = empty(std::move(shape), dtype, device);
  std::mt19937 random(seed);
  for (std::byte& byte : tensor.raw_bytes()) byte = static_cast<std::byte>(random());
  return tensor;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::ranges::equal(a.raw_bytes(), b.raw_bytes());
}

}  // namespace

TEST_CASE("safetensors: every dtype and shape comes back bit for bit, with the metadata") {
  const Folder folder;
  CpuDevice device;
  std::vector<NamedTensor> tensors;
  unsigned seed = 0;
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 3, 5}, Shape{3, 0, 2}}) {
      const std::string name = text(name_of(dtype), ".", text_of(shape));
      tensors.push_back({name, random_bits_of(shape, dtype, device, ++seed)});
    }
  }
  const std::string strange = "\"quotes\" \\ \n \x01 \xc3\xa9 \xf0\x9f\x8e\xb2 {}";
  tensors.push_back({strange, random_bits_of({1}, DType::int8, device, 99)});
  tensors.push_back({"", random_bits_of({1}, DType::int8, device, 100)});
  const Metadata metadata = {{"", ""}, {"format", "pt"}, {strange, strange}};
  write_safetensors(folder / "a", tensors, metadata);

  const SafetensorsFile file(folder / "a");
  CHECK(file.tensors().size() == tensors.size());
  CHECK(file.metadata() == metadata);
  for (const NamedTensor& tensor : tensors) {
    CAPTURE(tensor.name);
    const TensorEntry* entry = file.find(tensor.name);
    REQUIRE(entry != nullptr);
    CHECK(same_bits(file.load(*entry, device), tensor.value));
  }
  CHECK(file.find("nobody") == nullptr);
}

TEST_CASE("safetensors: the same tensors give the same bytes, in whatever order they are given") {
  const Folder folder;
  CpuDevice device;
  std::vector<NamedTensor> tensors;
  for (const char* name : {"b", "c", "a"}) {
    for (const DType dtype : all_dtypes) {
      tensors.push_back({text(name, ".", name_of(dtype)), full({3}, 1, dtype, device)});
    }
  }
  write_safetensors(folder / "a", tensors, {{"k", "v"}});
  std::ranges::reverse(tensors);
  write_safetensors(folder / "b", tensors, {{"k", "v"}});
  CHECK(content_of(folder / "a") == content_of(folder / "b"));

  // Aligned: the header ends at a multiple of 8, wide elements stand before narrow ones.
  const std::string bytes = content_of(folder / "a");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  CHECK(length % 8 == 0);
  const SafetensorsFile file(folder / "a");
  CHECK(file.tensors().front().name == "a.int64");
  CHECK(file.tensors().back().name == "c.uint8");
  for (const TensorEntry& entry : file.tensors()) CHECK(entry.begin % bytes_of(entry.dtype) == 0);
}

TEST_CASE("safetensors: nothing at all is a file, too") {
  const Folder folder;
  write_safetensors(folder / "a", {});
  CHECK(content_of(folder / "a") == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  CHECK(SafetensorsFile(folder / "a").tensors().empty());
}

TEST_CASE("safetensors: names that cannot be written are refused before a file is touched") {
  const Folder folder;
  CpuDevice device;
  const Tensor one = full({1}, 1, DType::float32, device);
  const auto write = [&](std::vector<NamedTensor> tensors, const Metadata& metadata = {}) {
    write_safetensors(folder / "a", tensors, metadata);
  };
  CHECK_THROWS_WITH(write({{"x", one}, {"x", one}}), contains("\"x\" is there twice"));
  CHECK_THROWS_AS(write({{"__metadata__", one}}), ContractError);
  CHECK_THROWS_WITH(write({{"\xff", one}}), contains("no UTF-8"));
  CHECK_THROWS_WITH(write({}, {{"k", "\xff"}}), contains("no UTF-8"));
  CHECK(lockstep::test::files_in(folder.path()) == 0);
}

TEST_CASE("safetensors: load_into takes another shape of as many elements, and nothing else") {
  const Folder folder;
  CpuDevice device;
  write_safetensors(folder / "a",
                    std::vector<NamedTensor>{{"x", full({2, 3}, 7, DType::float32, device)}});
  const SafetensorsFile file(folder / "a");
  const TensorEntry& x = *file.find("x");
  const Tensor flat = zeros({6}, DType::float32, device);
  file.load_into(x, flat);
  CHECK(flat.item(5) == 7);
  CHECK_THROWS_AS(file.load_into(x, zeros({5}, DType::float32, device)), ContractError);
  CHECK_THROWS_AS(file.load_into(x, zeros({6}, DType::int32, device)), ContractError);
}

TEST_CASE("safetensors: load_boxes takes any range of the flat tensor") {
  const Folder folder;
  CpuDevice device;
  const Tensor x = random_bits_of({3, 5}, DType::int64, device, 1);
  const Tensor before = random_bits_of({4}, DType::int64, device, 2);
  write_safetensors(folder / "f", std::vector<NamedTensor>{{"a", before}, {"x", x}});
  const SafetensorsFile file(folder / "f");
  const TensorEntry& entry = *file.find("x");
  for (std::int64_t begin = 0; begin <= 15; ++begin) {
    for (std::int64_t count = 0; count <= 15 - begin; ++count) {
      const Tensor part = empty({count}, DType::int64, device);
      file.load_boxes(entry, range_of(whole_of({3, 5}), begin, begin + count), part);
      CHECK(same_bits(part, x.view({-1}).narrow(begin, count)));
    }
  }
}

TEST_CASE("safetensors: load_boxes takes the elements of boxes, and no others") {
  const Folder folder;
  CpuDevice device;
  const Tensor x = random_bits_of({4, 3, 5}, DType::int64, device, 1);
  const Tensor before = random_bits_of({4}, DType::int64, device, 2);
  write_safetensors(folder / "f", std::vector<NamedTensor>{{"a", before}, {"x", x}});
  const SafetensorsFile file(folder / "f");
  const TensorEntry& entry = *file.find("x");
  for (const Boxes& boxes : std::vector<Boxes>{whole_of({4, 3, 5}),
                                               {{{1, 0, 2}, {4, 3, 4}}},
                                               {{{3, 1, 0}, {4, 2, 5}}, {{0, 0, 4}, {1, 3, 5}}},
                                               range_of(whole_of({4, 3, 5}), 7, 51),
                                               {}}) {
    const Tensor part = empty({numel_of(boxes)}, DType::int64, device);
    file.load_boxes(entry, boxes, part);
    CHECK(same_bits(part, cut(x, boxes)));
  }
  const Tensor four = empty({4}, DType::int64, device);
  CHECK_THROWS_WITH(file.load_boxes(entry, whole_of({4, 3, 5}), four),
                    contains("60 elements of it are asked for, which do not fit into int64 [4]"));
  CHECK_THROWS_AS(file.load_boxes(entry, {{{0, 0, 0}, {1, 1, 4}}}, four.to(DType::float64)),
                  ContractError);
}

TEST_CASE("safetensors: a file that the safetensors package wrote is read") {
  // data/make_reference.py says what is in it.
  CpuDevice device;
  const SafetensorsFile file(std::filesystem::path(LOCKSTEP_TEST_DATA) / "reference.safetensors");
  CHECK(file.metadata() == Metadata{{"format", "pt"}});
  const auto check = [&](const std::string& name, DType dtype, const Shape& shape,
                         const std::vector<double>& values) {
    CAPTURE(name);
    const TensorEntry* entry = file.find(name);
    REQUIRE(entry != nullptr);
    CHECK(entry->dtype == dtype);
    CHECK(entry->shape == shape);
    const Tensor tensor = file.load(*entry, device);
    REQUIRE(tensor.numel() == static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(tensor.item(static_cast<std::int64_t>(i)) == values[i]);
    }
  };
  check("layer.weight", DType::float32, {2, 3}, {0, 0.5, 1, 1.5, 2, 2.5});
  check("layer.bias", DType::float64, {2}, {-0.1, 1e300});
  check("step", DType::int64, {}, {9007199254740991});
  check("ids", DType::int32, {2, 2}, {-1, 0, 1, 2147483647});
  check("quantized", DType::int8, {3}, {-128, 0, 127});
  check("bytes", DType::uint8, {3}, {0, 128, 255});
  check("brain", DType::bfloat16, {3}, {1, -3.140625, 0x1p100});
  check("half", DType::float16, {3}, {1, -0.333251953125, 65504});
  check("nothing", DType::float32, {0, 4}, {});
  CHECK(file.tensors().size() == 9);
}
