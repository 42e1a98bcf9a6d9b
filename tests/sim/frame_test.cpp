// Frames as they come through a socket: in pieces, several at once, and larger than what is read
// ahead.
#include "engine/sim/hosts/frame.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

struct Line {
  Line() {
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    REQUIRE(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  }
  ~Line() {
    close(ends[0]);
    hang_up();
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  void write(const std::vector<char>& bytes) const {
    REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == std::ssize(bytes));
  }
  void hang_up() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  FrameReader::State read() { return reader.read(ends[0]); }

  int ends[2];
  FrameReader reader{1 << 20};
};

// Each byte of the body has the frame's number.
std::vector<char> frame(std::uint32_t number, std::uint32_t length) {
  const FrameHeader header{length, FrameKind::result, 0, number};
  std::vector<char> bytes(sizeof header + length, static_cast<char>(number + 1));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

bool is(const IncomingFrame& taken, std::uint32_t number, std::uint32_t length) {
  return taken.header.sequence == number && taken.bytes().size() == length &&
         std::ranges::all_of(taken.bytes(),
                             [&](std::byte byte) { return byte == std::byte(number + 1); });
}

constexpr auto whole = FrameReader::State::complete;
constexpr auto would_block = FrameReader::State::would_block;

}  // namespace

TEST_CASE("frames: several that come at once are handed out one by one, without another look") {
  Line line;
  std::vector<char> all = frame(0, 5);
  const auto second = frame(1, 0), third = frame(2, 9);
  all.insert(all.end(), second.begin(), second.end());
  all.insert(all.end(), third.begin(), third.end() - 2);
  line.write(all);
  REQUIRE(line.read() == whole);
  CHECK(is(line.reader.take(), 0, 5));
  CHECK(line.reader.holds_more());
  CHECK_FALSE(line.reader.drained());
  REQUIRE(line.read() == whole);
  CHECK(is(line.reader.take(), 1, 0));
  CHECK(line.reader.holds_more());
  CHECK(line.read() == would_block);
  CHECK(line.reader.drained());
  line.write({third.end() - 2, third.end()});
  line.hang_up();
  REQUIRE(line.read() == whole);
  CHECK(is(line.reader.take(), 2, 9));
  CHECK(line.reader.drained());
  CHECK(line.read() == FrameReader::State::closed);
}

TEST_CASE("frames: bodies of all sizes around what is read ahead arrive whole") {
  Line line;
  std::uint32_t number = 0;
  for (const std::uint32_t length : {0u, 1u, 4083u, 4084u, 4085u, 4096u, 8192u, 50000u}) {
    auto bytes = frame(number, length);
    const auto next = frame(number + 1, 3);
    bytes.insert(bytes.end(), next.begin(), next.end());
    line.write(bytes);
    CAPTURE(length);
    REQUIRE(line.read() == whole);
    CHECK(is(line.reader.take(), number, length));
    REQUIRE(line.read() == whole);
    CHECK(is(line.reader.take(), number + 1, 3));
    CHECK_FALSE(line.reader.holds_more());
    number += 2;
  }
}

TEST_CASE("frames: one that comes byte by byte is complete with its last") {
  Line line;
  const auto bytes = frame(0, 7);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    CHECK(line.read() == would_block);
    line.write({bytes[at]});
  }
  REQUIRE(line.read() == whole);
  CHECK(is(line.reader.take(), 0, 7));
}
