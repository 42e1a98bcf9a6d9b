#include "engine/strand/baton.hpp"

#include <utility>

namespace lockstep {

Baton::Baton(std::function<void()> idle) : idle_(std::move(idle)) {}

int Baton::current() const {
  const std::scoped_lock lock(mutex_);
  return holder_;
}

bool Baton::is_mine() const {
  const std::scoped_lock lock(mutex_);
  return thread_ == std::this_thread::get_id();
}

int Baton::live() const {
  const std::scoped_lock lock(mutex_);
  return live_;
}

int Baton::add() {
  const std::scoped_lock lock(mutex_);
  ++live_;
  ready_.push_back(added_);
  return added_++;
}

void Baton::ready(int strand) {
  const std::scoped_lock lock(mutex_);
  ready_.push_back(strand);
}

void Baton::begin(int strand) {
  std::unique_lock lock(mutex_);
  handed_on_.wait(lock, [&] { return holder_ == strand; });
  thread_ = std::this_thread::get_id();
}

void Baton::block() {
  std::unique_lock lock(mutex_);
  const int self = holder_;
  hand_on(lock);
  handed_on_.wait(lock, [&] { return holder_ == self; });
  thread_ = std::this_thread::get_id();
}

void Baton::leave() {
  std::unique_lock lock(mutex_);
  if (--live_ > 0) hand_on(lock);
}

void Baton::hand_on(std::unique_lock<std::mutex>& lock) {
  while (ready_.empty()) {
    lock.unlock();
    idle_();
    lock.lock();
  }
  const int next = ready_.front();
  ready_.pop_front();
  if (std::exchange(holder_, next) != next) handed_on_.notify_all();
}

}  // namespace lockstep
