#include "engine/comm/stores/memory_store.hpp"

#include <condition_variable>
#include <mutex>

#include "engine/comm/stores/local_store.hpp"

namespace lockstep::comm {

namespace {

class MemoryStore final : public LocalStore {
 public:
  explicit MemoryStore(double timeout_s) : LocalStore("in this process", timeout_s) {}

 private:
  void change(const std::string&, const Change& how) override {
    const std::scoped_lock inside(mutex_);
    how(all_);
    changed_.notify_all();
  }

  bool await(Deadline deadline, const Look& enough) override {
    std::unique_lock inside(mutex_);
    return changed_.wait_until(inside, deadline, [&] { return enough(all_); });
  }

  std::mutex mutex_;  // guards all_
  std::condition_variable changed_;
  Dictionary all_;
};

}  // namespace

std::unique_ptr<Store> make_memory_store(double timeout_s) {
  return std::make_unique<MemoryStore>(timeout_s);
}

}  // namespace lockstep::comm
