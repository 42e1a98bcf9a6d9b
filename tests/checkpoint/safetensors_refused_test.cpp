// Files that are broken, or were made to break a reader: each is refused with a sentence that names
// the file, the tensor, and what is wrong.
#include <cstring>

#include "engine/checkpoint/safetensors.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"

using namespace lockstep;
using checkpoint::CheckpointError;
using checkpoint::SafetensorsFile;
using lockstep::test::contains;
using lockstep::test::Folder;

namespace {

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + rest;
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  return with_length(header.size(), header + std::string(data_bytes, 'd'));
}

struct Refused {
  const char* header;
  std::size_t data_bytes;
  const char* why;
};

void check_refused(const std::string& bytes, const std::string& why) {
  const Folder folder;
  lockstep::test::put(folder / "odd.safetensors", bytes);
  CAPTURE(bytes.substr(0, 200), why);
  CHECK_THROWS_AS(SafetensorsFile(folder / "odd.safetensors"), CheckpointError);
  CHECK_THROWS_WITH(SafetensorsFile(folder / "odd.safetensors"),
                    contains(why) && contains("odd.safetensors"));
}

void check_all(const std::vector<Refused>& cases) {
  for (const auto& [header, data_bytes, why] : cases)
    check_refused(file_of(header, data_bytes), why);
}

}  // namespace

TEST_CASE("safetensors refused: too short, cut off, or a length that cannot be") {
  check_refused("", "0 bytes are no safetensors file");
  check_refused("1234567", "7 bytes are no safetensors file");
  check_refused(with_length(3, "{}"), "a header of 3 bytes, but only 2 follow");
  check_refused(with_length(100'000'001, "{}"), "a header of 100000001 bytes; 100000000 at most");
  check_refused(with_length(UINT64_MAX, "{}"), "a header of 18446744073709551615 bytes");
  check_refused(with_length(0, ""), "begins with nothing");
  check_refused(with_length(0, "{}"), "begins with nothing");
}

TEST_CASE("safetensors refused: a header that is no JSON, or not the object it must be") {
  check_all({
      {"[]", 0, "begins with \"[\""},
      {" {}", 0, "begins with \" \""},
      {"{", 0, "no JSON at its byte"},
      {"{} {}", 0, "no JSON at its byte 4"},
      {"{\"a\":}", 0, "no JSON"},
      {"{\"\xff\":{}}", 0, "no JSON"},
      {"{\"a\":1}", 0, "\"a\" has the number 1 where none belongs"},
      {"{\"a\":\"F32\"}", 0, "the text \"F32\" where none belongs"},
      {"{\"a\":[1]}", 0, "a list where none belongs"},
      {"{\"a\":null}", 0, "null"},
      {"{\"a\":true}", 0, "true or false"},
  });
  check_refused(file_of(std::string("{}\0{}", 5), 0), "a zero byte");
  // Deeper than any header, and deeper than a parser that recurses could go.
  check_refused(file_of("{\"a\":" + std::string(1'000'000, '['), 0), "a list where none belongs");
  check_refused(file_of("{\"a\":{\"shape\":" + std::string(1'000'000, '['), 0),
                "a list where none");
}

TEST_CASE("safetensors refused: names and fields that are twice, missing or unknown") {
  check_all({
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1, "tensor \"a\" has the same name twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "__metadata__ has the same name twice"},
      {R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1,
       "the field \"dtype\" twice"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", 0, "the field \"k\" twice"},
      {R"({"__metadata__":{"k":1}})", 0, "__metadata__ has the number 1"},
      {R"({"__metadata__":{"k":["v"]}})", 0, "__metadata__ has a list"},
      {R"({"__metadata__":{"k":{}}})", 0, "__metadata__ has an object inside it"},
      {R"({"__metadata__":"k"})", 0, "__metadata__ has the text"},
      {R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, "tensor \"a\" has no dtype"},
      {R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "tensor \"a\" has no shape"},
      {R"({"a":{"dtype":"U8","shape":[1]}})", 1, "tensor \"a\" has no data_offsets"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"stride":[1]}})", 1,
       "the field \"stride\""},
  });
}

TEST_CASE("safetensors refused: dtypes, shapes and offsets that are none") {
  check_all({
      {R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1,
       "tensor \"a\" has dtype \"F8_E4M3\"; the engine reads I64 F64"},
      {R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,1]}})", 1, "the number 4"},
      {R"({"a":{"dtype":["U8"],"shape":[1],"data_offsets":[0,1]}})", 1, "a list where none"},
      {R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", 1, "the number 1 where none"},
      {R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1,
       "a shape of 9 axes"},
      {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "the number -1"},
      {R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, "the number \"1.0\""},
      {R"({"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})", 1, "the text \"1\""},
      {R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1, "a list where none"},
      {R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]}})", 1,
       "a size of 9223372036854775808"},
      {R"({"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]}})", 1,
       "below 2^64"},
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "more bytes than 63 bits can count"},
      {R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0,
       "more bytes than 63 bits can count"},
      {R"({"a":{"dtype":"U8","shape":[9223372036854775807,3,0],"data_offsets":[0,0]}})", 0,
       "more bytes than 63 bits can count"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "1 data_offsets, not two"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1, "3 data_offsets, not two"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1,
       "is uint8 [1], which is 1 bytes, but has data_offsets [1, 0]"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,7]}})", 7,
       "is float32 [2], which is 8 bytes, but has data_offsets [0, 7]"},
  });
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  check_refused(
      file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[" + ones + "],\"data_offsets\":[0,1]}}", 1),
      "more than 64 numbers");
}

TEST_CASE("safetensors refused: tensors that overlap, leave a hole, or do not end with the file") {
  check_all({
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       3, "tensor \"b\" has data_offsets [1, 3], but byte 2 is the next that no tensor has"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
       2, "tensor \"b\" has data_offsets [0, 2], but byte 2"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[3,5]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
       5, "tensor \"a\" has data_offsets [3, 5], but byte 2 is the next that must belong"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3, "byte 0 is the next"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 1,
       "the file has 1 bytes after the header; is it cut off?"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 3,
       "the tensors end at byte 2 after the header, but 3 bytes are there"},
      {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[5,5]}})", 0, "byte 0 is the next"},
      {"{}", 1, "the tensors end at byte 0 after the header, but 1 bytes"},
  });
}

TEST_CASE("safetensors: spaces after the header, any order and a length that is odd are read") {
  const Folder folder;
  lockstep::test::put(
      folder / "a",
      file_of(R"({"b":{"data_offsets":[2,3],"shape":[1],"dtype":"U8"},)"
              R"("a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"__metadata__":{} }   )",
              3));
  const SafetensorsFile file(folder / "a");
  REQUIRE(file.tensors().size() == 2);
  CHECK(file.tensors()[0].name == "a");
  CHECK(file.tensors()[1].name == "b");
}

TEST_CASE("safetensors refused: a name in a message is short and has no control characters") {
  CHECK(checkpoint::quoted("a\nb\x1b[31m") == "\"a?b?[31m\"");
  CHECK(checkpoint::quoted(std::string(1'000'000, 'x')).size() < 100);
}
