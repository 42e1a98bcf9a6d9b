#include "engine/comm/worlds/nccl/abortable_communicator.hpp"

#include <chrono>
#include <utility>

namespace lockstep::comm {

std::shared_ptr<gpu::Moment> AbortableCommunicator::ask(std::span<const gpu::WireCall> calls,
                                                        gpu::Moment& after) {
  const std::scoped_lock lock(mutex_);
  if (aborted_) throw CommError("the communicator was aborted");
  return communicator_->ask(calls, after);
}

std::string AbortableCommunicator::failure() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock && !aborted_ ? communicator_->failure() : std::string();
}

void AbortableCommunicator::abort() noexcept {
  const std::unique_lock lock(mutex_, std::chrono::seconds(1));
  if (std::exchange(aborted_, true)) return;
  communicator_->abort();
}

std::string Flight::doing() const {
  if (const auto* message = std::get_if<Message>(&what_)) {
    return text_of(message->call, message->names);
  }
  return text_of(std::get<CallFingerprint>(what_));
}

void Flight::launched(std::shared_ptr<gpu::Moment> done) {
  const std::scoped_lock lock(mutex_);
  done_ = std::move(done);
  launched_ = true;
  changed_.notify_all();
}

void Flight::checked() {
  const std::scoped_lock lock(mutex_);
  checked_ = true;
  changed_.notify_all();
}

void Flight::failed(std::exception_ptr failure) {
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  changed_.notify_all();
}

std::shared_ptr<gpu::Moment> Flight::done() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return launched_ || failure_; });
  if (failure_) std::rethrow_exception(failure_);
  return done_;
}

void Flight::wait_checked() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return checked_ || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

bool Flight::is_checked() const {
  const std::scoped_lock lock(mutex_);
  return checked_;
}

// The memory goes back to the device when the lock is free again.
void Flight::let_go() {
  std::vector<Tensor> gone;
  const std::scoped_lock lock(mutex_);
  gone.swap(tensors_);
}

}  // namespace lockstep::comm
