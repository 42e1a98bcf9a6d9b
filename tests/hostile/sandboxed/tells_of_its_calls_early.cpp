// exercise: zero_1_optimizer
// verdict: crash
// says: told of its last step before
// then: grader/impostors/lying/zero_1_optimizer.hoards.cpp
// Tells of all its calls before it holds anything, and keeps the adapter from telling.
#include <cstdint>

#include "engine/base/fields.hpp"
#include "engine/sim/hosts/socket_port.hpp"

extern "C" void* __libc_stack_end;
extern "C" void* const _ZTVN8lockstep3sim10SocketPortE[];  // its table of virtual functions

namespace {

using namespace lockstep;

struct Deaf final : sim::Port {
  sim::Reply call(const sim::Request& request) override {
    if (request.name == "moments") return {};
    return static_cast<sim::SocketPort*>(static_cast<sim::Port*>(this))
        ->sim::SocketPort::call(request);
  }
};

// It lies on the stack of whoever called the part. Behind the table of an object that lives comes
// its text, which is empty and so points to itself.
sim::SocketPort* find_port() {
  const auto table = reinterpret_cast<std::uintptr_t>(_ZTVN8lockstep3sim10SocketPortE + 2);
  auto* word = static_cast<std::uintptr_t*>(__builtin_frame_address(0));
  for (; word + 3 < __libc_stack_end; ++word) {
    if (word[0] == table && word[1] == reinterpret_cast<std::uintptr_t>(word + 3)) {
      return reinterpret_cast<sim::SocketPort*>(word);
    }
  }
  return nullptr;
}

void tell_early() {
  static sim::SocketPort* const port = find_port();
  if (port == nullptr) return;
  for (std::uint32_t step = 0;; ++step) {
    const Bytes moment = fields_to_bytes(step, std::int64_t{0}, std::int64_t{0});
    sim::Request request;
    request.op = sim::Op::service;
    request.name = "moments";
    request.data.bytes = moment;
    if (port->sim::SocketPort::call(request).status != sim::Status::ok) break;
  }
  static Deaf deaf;
  static void* volatile table[40];
  for (int i = 0; i < 40; ++i) table[i] = _ZTVN8lockstep3sim10SocketPortE[i];
  table[4] = (*reinterpret_cast<void** volatile*>(&deaf))[2];
  *reinterpret_cast<void* volatile* volatile*>(port) = table + 2;
}

}  // namespace

// Where the optimizer is made.
#define state_(given) state_((tell_early(), given))
