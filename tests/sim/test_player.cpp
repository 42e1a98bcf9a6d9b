// A player whose behaviour is the text it is given: every way to go wrong, and a few to go right.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "engine/base/error.hpp"
#include "engine/sim/hosts/frame.hpp"
#include "engine/sim/hosts/player.hpp"
#include "tests/strand/monitor_cases.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

Request message(Op op, int peer, std::int64_t count, int tag = 0) {
  Request request;
  request.op = op;
  request.peer = peer;
  request.count = count;
  request.tag = tag;
  request.file = "/src/work/ring.cpp";
  request.line = __LINE__;
  return request;
}

std::vector<float> floats_of(const Payload& payload) {
  std::vector<float> values(payload.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), payload.bytes.data(), payload.bytes.size());
  return values;
}

void send(Port& port, int dst, const std::vector<float>& values, int tag = 0) {
  Request request = message(Op::send, dst, static_cast<std::int64_t>(values.size()), tag);
  request.data.bytes = std::as_bytes(std::span(values));
  const Reply reply = port.call(request);
  if (reply.status != Status::ok) throw CommError(reply.error);
}

std::vector<float> recv(Port& port, int src, std::int64_t count, int tag = 0) {
  const Reply reply = port.call(message(Op::recv, src, count, tag));
  if (reply.status != Status::ok) throw CommError(reply.error);
  return floats_of(reply.data);
}

// Sums `values` over all ranks by passing them around the ring, `rounds` times.
std::vector<float> ring(PlayerCase& given, std::vector<float> mine, int rounds) {
  const int n = given.ranks, right = (given.rank + 1) % n, left = (given.rank + n - 1) % n;
  std::vector<float> sum = mine, passing = mine;
  for (int round = 0; round < rounds; ++round) {
    std::vector<float> got;
    const auto count = static_cast<std::int64_t>(passing.size());
    if (given.rank % 2 == 0) {
      send(given.port, right, passing);
      got = recv(given.port, left, count);
    } else {
      got = recv(given.port, left, count);
      send(given.port, right, passing);
    }
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += got[i];
    passing = std::move(got);
  }
  return sum;
}

// Two strands exchange with the peer rank at the same time, each with its own tag.
std::vector<float> two_strands(PlayerCase& given) {
  const int peer = 1 - given.rank;
  std::vector<float> got(2);
  const auto exchange = [&](int tag) {
    const std::vector<float> mine = {static_cast<float>(10 * given.rank + tag)};
    if (given.rank == 0) {
      send(given.port, peer, mine, tag);
      got[static_cast<std::size_t>(tag)] = recv(given.port, peer, 1, tag)[0];
    } else {
      got[static_cast<std::size_t>(tag)] = recv(given.port, peer, 1, tag)[0];
      send(given.port, peer, mine, tag);
    }
  };
  auto other = given.strands.start("other", [&] { exchange(1); });
  exchange(0);
  other->join();
  return got;
}

// The strands of this rank hand numbers to each other; `pause` blocks in the core, so that others
// run while one is inside.
void queue(PlayerCase& given, ByteWriter& out) {
  const auto pause = [&] { given.port.call(Request{}); };
  const auto seen = test::pass_through_queue(given.strands, 3, 20, 2, pause);
  out.put_list<int>(seen.times).put(static_cast<int>(seen.longest)).put(seen.inside_most);
}

void write_raw(const void* data, std::size_t size) {
  if (::send(3, data, size, MSG_NOSIGNAL) < 0) std::_Exit(9);
}

// The last rank does, and the others wait for it; or "all" do, the last one first.
void misbehave(std::string what, PlayerCase& given) {
  const bool all = what.starts_with("all ");
  if (all) {
    what.erase(0, 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * (given.ranks - given.rank)));
  }
  const bool chosen = all || given.rank == given.ranks - 1;
  if (what == "deadlock") recv(given.port, (given.rank + given.ranks - 1) % given.ranks, 3);
  if (what == "deadlock beside a strand") {
    auto strand = given.strands.start("s", [&] { recv(given.port, 1 - given.rank, 1, 7); });
    strand->join();
  }
  if (what == "nobody notifies" && given.rank == 0) {
    const auto monitor = given.strands.make_monitor();
    const auto wait = [&] {
      const std::scoped_lock inside(*monitor);
      monitor->wait([] { return false; });
    };
    auto strand = given.strands.start("s", wait);
    strand->join();
  }
  if (what == "a strand throws" && given.rank == 0) {
    auto strand = given.strands.start("s", [] { throw Error("the disk is full"); });
    try {
      strand->join();
    } catch (const Error&) {
      strand->join();
    }
  }
  if (what == "nobody notifies after a throw") {
    const auto strand = given.strands.start("s", [] { throw Error("the disk is full"); });
    const auto monitor = given.strands.make_monitor();
    const std::scoped_lock inside(*monitor);
    monitor->wait([] { return false; });
  }
  const auto loop = [] {
    std::atomic<int> turns = 0;
    while (true) ++turns;
  };
  if (what == "isend goes on") {
    if (!chosen) loop();
    given.port.call(message(Op::isend, 0, 1));
    std::puts("went on");
    return;
  }
  if (!chosen) {
    recv(given.port, given.ranks - 1, 1);
    return;
  }
  if (what == "exit") std::exit(0);
  if (what == "segv") std::raise(SIGSEGV);
  if (what == "abort") std::abort();
  if (what == "loop") loop();
  if (what == "poll") {
    Request compute;
    while (true) given.port.call(compute);
  }
  if (what == "print") {
    while (true) std::puts("again and again and again");
  }
  if (what == "garbage") write_raw("this is no frame, not at all", 28);
  if (what == "huge") write_raw("\xff\xff\xff\xff\x10\0\0\0\0\0\0\0", 12);
  if (what == "huge result") write_raw("\xff\xff\xff\x7f\x13\0\0\0\0\0\0\0", 12);
  if (what == "two results") {
    write_raw("\x04\0\0\0\x13\0\0\0\0\0\0\0four\x04\0\0\0\x13\0\0\0\1\0\0\0four", 32);
  }
  if (what == "hundreds at once") {  // more than the host takes at once, in a single write
    Bytes frames;
    std::uint32_t sequence = 0;
    const auto add = [&](FrameKind kind, const Bytes& body) {
      const FrameHeader header{static_cast<std::uint32_t>(body.size()), kind, 0, sequence++};
      const auto bytes = std::as_bytes(std::span(&header, 1));
      frames.insert(frames.end(), bytes.begin(), bytes.end());
      frames.insert(frames.end(), body.begin(), body.end());
    };
    for (int i = 0; i < 300; ++i) add(FrameKind::threw, ByteWriter().put_text("again").take());
    add(FrameKind::failed,
        ByteWriter().put(Failure::unsolved).put_text("after three hundred").take());
    write_raw(frames.data(), frames.size());
    while (true) pause();
  }
  if (what == "bad peer") given.port.call(message(Op::recv, 99, 1));
  if (what == "close") {
    close(3);
    while (true) pause();
  }
  if (what == "bad_alloc") {
    std::vector<std::vector<char>> held;
    while (true) held.emplace_back(std::size_t{16} << 20);
  }
  if (what == "unsolved") throw NotImplemented("ring_all_reduce");
  if (what == "throw") throw ContractError("narrow: rank 1 asks for \x1b[31m elements");
  if (what == "throw int") throw 3;
  if (what == "throw in strand") {
    given.strands.start("s", [] { throw Error("inside a strand"); })->join();
  }
  if (what == "throw past strand") {
    auto strand = given.strands.start("s", [&] { recv(given.port, 0, 1, 7); });
    send(given.port, 0, {1});
    throw Error("past a strand");
  }
  if (what == "throw past strand that ends") {
    bool ended = false;
    try {
      auto strand = given.strands.start("s", [&] {
        send(given.port, 0, {1});
        ended = true;
      });
      throw Error("past a strand");
    } catch (const Error&) {
      throw Error(ended ? "the strand has ended" : "the strand was abandoned");
    }
  }
  if (what == "foreign thread") {
    std::thread([&] { send(given.port, 0, {1}); }).join();
  }
  if (what == "foreign thread at work while it waits") {
    std::thread late([&] {
      const auto begin = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(5)) continue;
      send(given.port, 0, {1});
    });
    recv(given.port, 0, 1);
    late.join();
  }
  if (what == "leave strand") {
    auto strand = given.strands.start("loader", [&] { recv(given.port, 0, 1, 7); });
    static_cast<void>(strand.release());
    send(given.port, 0, {1});
  }
  if (what == "in flight") {
    std::vector<float> buffer = {1, 2};
    Request start = message(Op::isend, 0, 2, 5);
    start.data.bytes = std::as_bytes(std::span(buffer));
    const Reply reply = given.port.call(start);
    buffer[1] = 3;
    Request wait = message(Op::wait, 0, 0);
    wait.handle = reply.handle;
    wait.checksum = checksum_of(std::as_bytes(std::span(buffer)));
    given.port.call(wait);
  }
}

// Looks five times. Behind the first look it has made and freed 8 MB, behind the second nothing;
// the third one's answer is of 8 MB, and behind the fourth it makes as much beside that.
void be_looked_at(Port& port) {
  const auto make = [] {
    const std::vector<std::byte> made(8 << 20, std::byte{1});
    const volatile std::byte* used = made.data();
    static_cast<void>(*used);
  };
  Request look;
  look.op = Op::service;
  look.name = "look";
  port.call(look);
  make();
  port.call(look);
  port.call(look);
  const Reply large = port.call(look);
  make();
  port.call(look);
}

// Rank 0 waits in a barrier, rank 1 computes for long, rank 2 asks a service over and over, and the
// others are over at once.
void wait_for_the_end(PlayerCase& given) {
  Request request = message(Op::collective, 0, 0);
  request.collective = Collective::barrier;
  if (given.rank == 0) given.port.call(request);
  request.op = Op::compute;
  request.seconds = 100;
  if (given.rank == 1) given.port.call(request);
  request.op = Op::service;
  request.name = "fuse";
  while (given.rank == 2) given.port.call(request);
}

Bytes part(PlayerCase& given) {
  const std::string what = given.input.get_text();
  ByteWriter out;
  if (what == "waits for the end" || what == "who") {
    if (what != "who") wait_for_the_end(given);
    out.put(static_cast<std::int64_t>(getpid()));
    return out.take();
  }
  if (what == "ring") {
    const auto mine = given.input.get_list<float>();
    out.put_list<float>(ring(given, mine, given.input.get<int>()));
  } else if (what == "two strands") {
    out.put_list<float>(two_strands(given));
  } else if (what == "queue") {
    queue(given, out);
  } else if (what == "waits for the next") {
    try {
      recv(given.port, (given.rank + 1) % given.ranks, 1);
    } catch (const CommError& error) {
      given.gave_up = error.what();
      out.put_text(error.what());
    }
  } else if (what == "is looked at") {
    be_looked_at(given.port);
  } else if (what == "hello") {
    std::printf("hello from rank %d\n", given.rank);
  } else if (what == "environment") {
    out.put(environ == nullptr || environ[0] == nullptr ? 0 : 1);
    int open_files = 0;
    for (int fd = 0; fd < 16; ++fd) open_files += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    out.put(open_files);
  } else {
    misbehave(what, given);
  }
  return out.take();
}

}  // namespace

int main() { return serve_cases(part); }
