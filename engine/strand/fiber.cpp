#include "engine/strand/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep {

namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// The end of a stack is used most. All stacks end where a page does, and would share few of the
// sets of the processor's caches; so each begins some lines before its end, and its neighbour
// others.
std::span<std::byte> apart(std::span<std::byte> stack) {
  constexpr std::size_t line = 64, places = 32;
  const auto page = reinterpret_cast<std::uintptr_t>(stack.data()) / page_bytes();
  return stack.first(stack.size() - page % places * line);
}

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
    : own_(apart(stack.memory()), &Fiber::run, this),
      stack_(std::move(stack)),
      body_(std::move(body)) {
  note_new_stack(own_notes_, stack_.memory());
}

Fiber::~Fiber() { note_gone(own_notes_); }

void Fiber::run(void* fiber) {
  auto& self = *static_cast<Fiber*>(fiber);
  note_arrived(self.own_notes_, *self.resumer_->left);
  try {
    self.body_(self);
  } catch (...) {
    self.failure_ = std::current_exception();
  }
  self.done_ = true;
  self.go_back(Leaving::ends);
}

void Fiber::resume() {
  LOCKSTEP_CHECK(!done_ && !running_, "resume: the fiber ", done_ ? "has ended" : "runs already");
  static_assert(sizeof(Exceptions) == 16);
  Resumer here;
  here.current = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  here.exceptions = *here.current;
  here.left = &here.notes;
  begin_to_run(here);
  note_leaving(here.notes, own_notes_, Leaving::returns);
  here.stack.switch_to(own_);
  note_arrived(here.notes, *here.left);
  *here.current = here.exceptions;
  Fiber& last = *here.last;
  if (last.failure_) std::rethrow_exception(std::exchange(last.failure_, nullptr));
}

void Fiber::suspend() { go_back(Leaving::returns); }

void Fiber::go_back(Leaving leaving) {
  stop_running();
  note_leaving(own_notes_, resumer_->notes, leaving);
  own_.switch_to(resumer_->stack);
  note_arrived(own_notes_, *resumer_->left);
}

void Fiber::hand_over(Fiber& next) {
  LOCKSTEP_CHECK(!next.done_ && !next.running_, "hand_over: the next fiber ",
                 next.done_ ? "has ended" : "runs already");
  stop_running();
  next.begin_to_run(*resumer_);
  note_leaving(own_notes_, next.own_notes_, Leaving::returns);
  own_.switch_to(next.own_);
  note_arrived(own_notes_, *resumer_->left);
}

void Fiber::begin_to_run(Resumer& resumer) {
  running_ = true;
  resumer_ = &resumer;
  *resumer.current = exceptions_;
}

void Fiber::stop_running() {
  running_ = false;
  exceptions_ = *resumer_->current;
  resumer_->left = &own_notes_;
  resumer_->last = this;
}

FiberStack Fiber::take_stack() {
  LOCKSTEP_CHECK(done_, "take_stack: the fiber has not ended");
  return std::move(stack_);
}

}  // namespace lockstep
