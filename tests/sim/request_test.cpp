#include "engine/base/random.hpp"
#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;

TEST_CASE("a request and a reply survive the way through bytes") {
  Request request = message(Op::isend, 3, 5, 77, 9);
  request.group = 4;
  request.seconds = 0.25;
  request.color = -1;
  request.name = "store";
  ByteWriter out;
  write(out, request);
  ByteReader in(out.bytes());
  const Request back = read_request(in, nullptr);
  CHECK(in.done());
  CHECK(back.op == Op::isend);
  CHECK(back.peer == 3);
  CHECK(back.tag == 9);
  CHECK(back.count == 5);
  CHECK(back.group == 4);
  CHECK(back.seconds == 0.25);
  CHECK(back.color == -1);
  CHECK(back.name == "store");
  CHECK(back.line == 77);
  CHECK(floats_of(back.data) == floats_of(request.data));

  Reply reply;
  reply.status = Status::failed;
  reply.error = "rank 1 is gone";
  reply.handle = 12;
  reply.rank = 2;
  reply.now = 1.5;
  reply.data = floats({1, 2});
  ByteWriter answer;
  write(answer, reply);
  ByteReader answered(answer.bytes());
  const Reply got = read_reply(answered, nullptr);
  CHECK(answered.done());
  CHECK(got.status == Status::failed);
  CHECK(got.error == reply.error);
  CHECK(got.handle == 12);
  CHECK(got.rank == 2);
  CHECK(got.now == 1.5);
  CHECK(floats_of(got.data) == std::vector<float>{1, 2});
}

TEST_CASE("whatever the bytes, reading a request or a reply gives one or throws Error") {
  ByteWriter out;
  write(out, message(Op::send, 1, 3));
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    // Noise, and good requests with one byte changed, cut off anywhere.
    Bytes bytes = round % 2 == 0 ? out.bytes() : Bytes(random_bits(1, round) % 200);
    if (round % 2 == 0) {
      bytes[random_bits(2, round) % bytes.size()] = std::byte(random_bits(3, round));
      bytes.resize(bytes.size() - random_bits(4, round) % 4);
    } else {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = std::byte(random_bits(5, round * 256 + i) & (round % 4 == 1 ? 0xff : 0x07));
      }
    }
    ByteReader request(bytes), reply(bytes);
    try {
      const Request read = read_request(request, nullptr);
      Core core(world(3));
      core.ask({0, 0}, read);
    } catch (const Error&) {
    }
    try {
      static_cast<void>(read_reply(reply, nullptr));
    } catch (const Error&) {
    }
  }
  SUCCEED("nothing else was thrown");
}

TEST_CASE("lengths that promise more than is there are refused before anything is allocated") {
  ByteWriter out;
  out.put(std::uint64_t{1} << 60);
  ByteReader in(out.bytes());
  CHECK_THROWS_AS(read_request(in, nullptr), Error);
}

TEST_CASE(
    "a request: a name, a file or counts over their caps are malformed, at them they are not") {
  const auto read_back = [](const Request& request) {
    ByteWriter out;
    write(out, request);
    ByteReader in(out.bytes());
    return read_request(in, nullptr);
  };
  Request request = message(Op::service, 1, 1);
  request.name = std::string(names_max, 'n');
  request.file = std::string(names_max, 'f');
  request.counts.resize(counts_bytes_max / sizeof(std::int64_t));
  CHECK(read_back(request).name == request.name);
  Request named = request, placed = request, counted = request;
  named.name += "n";
  placed.file += "f";
  counted.counts.push_back(1);
  CHECK_THROWS_WITH(read_back(named), test::contains("at most 4096"));
  CHECK_THROWS_WITH(read_back(placed), test::contains("at most 4096"));
  CHECK_THROWS_WITH(read_back(counted), test::contains("at most 65536"));
}
