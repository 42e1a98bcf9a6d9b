#include "engine/sim/hosts/player.hpp"

#include <malloc.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>

#include "engine/sim/hosts/socket_port.hpp"

namespace lockstep::sim {

namespace {

constexpr int host_socket = 3;

void flush_output() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(stdout);
}

// Strands that are still blocked cannot be unwound: the process ends here, without destructors.
[[noreturn]] void fail(SocketPort& port, Failure kind, const std::string& text,
                       const std::vector<std::uint64_t>& calls = {}) {
  flush_output();
  port.send_failure(kind, text, calls);
  std::_Exit(1);
}

struct Outcome {
  Bytes result;
  std::string gave_up;
};

using ThrownAt = std::vector<std::uint64_t> (*)(const std::exception&);

Outcome play(SocketPort& port, const IncomingFrame& frame,
             const std::function<Bytes(PlayerCase&)>& part, ThrownAt thrown_at) {
  ByteReader head(frame.bytes());
  const int rank = head.get<int>();
  const int ranks = head.get<int>();
  const auto input = frame.bytes().subspan(2 * sizeof(int));
  try {
    PlayerCase given{port, port, rank, ranks, ByteReader(input)};
    Bytes result = part(given);
    return {std::move(result), given.gave_up};
  } catch (const NotImplemented& error) {
    fail(port, Failure::unsolved, error.what());
  } catch (const std::bad_alloc&) {
    fail(port, Failure::memory, "std::bad_alloc");
  } catch (const OutOfMemory&) {
    fail(port, Failure::memory, "no memory for a tensor");
  } catch (const std::exception& error) {
    fail(port, Failure::crash, error.what(),
         thrown_at == nullptr ? std::vector<std::uint64_t>{} : thrown_at(error));
  } catch (...) {
    fail(port, Failure::crash, "something that is not a std::exception");
  }
}

}  // namespace

int serve_cases(const std::function<Bytes(PlayerCase&)>& part, ThrownAt thrown_at,
                std::string (*take_caught)()) {
  // One arena: strands run one at a time, and each arena would reserve 64 MiB of address space.
  mallopt(M_ARENA_MAX, 1);
  // Freed memory goes back to the system: the host looks at how much a player holds. Unless they
  // are set, both limits grow with what is freed.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
  signal(SIGPIPE, SIG_IGN);                     // of a line that is gone, writing says so
  std::setvbuf(stdout, nullptr, _IOLBF, 4096);  // what was printed before a crash is seen
  SocketPort port(host_socket);
  while (const auto frame = port.next_case()) {
    Outcome outcome = play(port, *frame, part, thrown_at);
    if (const auto names = port.unfinished(); !names.empty()) {
      fail(
          port, Failure::crash,
          "the part returned while its strand " + names + " is still running: join() every strand");
    }
    flush_output();
    const std::string caught = take_caught == nullptr ? std::string() : take_caught();
    if (!caught.empty()) port.send_threw(caught);
    if (outcome.gave_up.empty()) {
      port.send_result(std::move(outcome.result));
    } else {
      port.send_gave_up(outcome.gave_up, outcome.result);
    }
  }
  return 0;
}

}  // namespace lockstep::sim
