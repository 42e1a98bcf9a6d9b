#include "engine/strand/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep {

namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

FiberStack::FiberStack(std::size_t bytes) {
  const std::size_t page = page_bytes();
  const std::size_t size = (bytes + page - 1) / page * page;
  void* mapped = mmap(nullptr, size + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapped == MAP_FAILED || mprotect(mapped, page, PROT_NONE) != 0) {
    const int reason = errno;
    if (mapped != MAP_FAILED) munmap(mapped, size + page);
    throw Error(text("no stack of ", size, " bytes for another fiber: ", std::strerror(reason),
                     "; each takes two mappings, of which the system allows vm.max_map_count"));
  }
  memory_ = {static_cast<std::byte*>(mapped) + page, size};
}

FiberStack::~FiberStack() {
  if (memory_.empty()) return;
  const std::size_t page = page_bytes();
  munmap(memory_.data() - page, memory_.size() + page);
}

FiberStack::FiberStack(FiberStack&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}

FiberStack& FiberStack::operator=(FiberStack&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

Fiber::Fiber(FiberStack stack, Body body)
    : stack_(std::move(stack)), body_(std::move(body)), own_(stack_.memory(), &Fiber::run, this) {
  note_new_stack(own_notes_, stack_.memory());
}

Fiber::~Fiber() { note_gone(own_notes_); }

void Fiber::run(void* fiber) {
  auto& self = *static_cast<Fiber*>(fiber);
  note_arrived(self.own_notes_, self.resumer_notes_);
  try {
    self.body_(self);
  } catch (...) {
    self.failure_ = std::current_exception();
  }
  self.done_ = true;
  self.go(Leaving::ends);
}

void Fiber::swap_exceptions() {
  static_assert(sizeof(Exceptions) == 16);
  auto* globals = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  std::swap(*globals, exceptions_);
}

void Fiber::resume() {
  LOCKSTEP_CHECK(!done_ && !running_, "resume: the fiber ", done_ ? "has ended" : "runs already");
  running_ = true;
  swap_exceptions();
  note_leaving(resumer_notes_, own_notes_, Leaving::returns);
  resumer_.switch_to(own_);
  note_arrived(resumer_notes_, own_notes_);
  swap_exceptions();
  running_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Fiber::suspend() { go(Leaving::returns); }

void Fiber::go(Leaving leaving) {
  note_leaving(own_notes_, resumer_notes_, leaving);
  own_.switch_to(resumer_);
  note_arrived(own_notes_, resumer_notes_);
}

FiberStack Fiber::take_stack() {
  LOCKSTEP_CHECK(done_, "take_stack: the fiber has not ended");
  return std::move(stack_);
}

}  // namespace lockstep
