#include "engine/base/bytes.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("bytes: what a writer puts, a reader gets, in order") {
  const std::vector<std::int64_t> list{1, -2, 3};
  ByteWriter out;
  out.put(std::int32_t{-7}).put_text("ring").put_list(std::span(list)).put(2.5);
  ByteReader in(out.bytes());
  CHECK(in.get<std::int32_t>() == -7);
  CHECK(in.get_text() == "ring");
  CHECK(in.get_list<std::int64_t>() == list);
  CHECK(in.get<double>() == 2.5);
  CHECK(in.done());
}

TEST_CASE("bytes: a length beyond the end is refused before anything is allocated") {
  ByteWriter out;
  out.put(std::uint64_t{1} << 60);
  ByteReader in(out.bytes());
  CHECK_THROWS_WITH(in.get_bytes(), test::contains("announced"));
}

TEST_CASE("bytes: a list that ends inside an element is refused") {
  ByteWriter out;
  out.put_text("12345");
  ByteReader in(out.bytes());
  CHECK_THROWS_AS(in.get_list<std::int64_t>(), Error);
}

TEST_CASE("checksum_of: every single changed byte changes it") {
  Bytes bytes(37);
  const auto before = checksum_of(bytes);
  for (auto& byte : bytes) {
    byte = std::byte{1};
    CHECK(checksum_of(bytes) != before);
    byte = std::byte{0};
  }
  CHECK(checksum_of(Bytes(36)) != before);
}
