// The queue on a group that fails at once, and takes its time to tell the other ranks.
#include <atomic>
#include <chrono>
#include <future>

#include "engine/parallel/horovod/reduction_queue.hpp"
#include "tests/catch.hpp"
#include "tests/horovod/ranks.hpp"

using namespace lockstep;

namespace {

// Rank 0 of two. To give up takes until `learned` is there, but not longer than its patience.
class FailingGroup final : public comm::ProcessGroup {
 public:
  FailingGroup(std::shared_future<void> learned, std::promise<bool>& in_time)
      : ProcessGroup(0, 2), learned_(std::move(learned)), in_time_(in_time) {}
  std::string_view backend() const override { return "failing"; }
  comm::Traffic traffic() const override { return {}; }

 protected:
  comm::Work start(const comm::Collective&, const comm::Where&) override { fail(); }
  comm::Work start_send(const Tensor&, int, int, const comm::Where&) override { fail(); }
  comm::Work start_recv(Tensor, int, int, const comm::Where&) override { fail(); }
  std::unique_ptr<ProcessGroup> start_split(int, int, const comm::Where&) override {
    return std::make_unique<FailingGroup>(learned_, in_time_);
  }
  void give_up(const std::string&) override {
    if (given_up_.exchange(true)) return;
    in_time_.set_value(learned_.wait_for(patience) == std::future_status::ready);
  }

 private:
  static constexpr auto patience = std::chrono::seconds(30);
  [[noreturn]] static void fail() { throw CommError("a failure of the test"); }

  std::shared_future<void> learned_;
  std::promise<bool>& in_time_;
  std::atomic<bool> given_up_ = false;
};

}  // namespace

TEST_CASE("horovod: a rank learns of its strand's failure before the other ranks are told") {
  CpuDevice device;
  const auto strands = make_thread_strands();
  std::promise<void> learned;
  std::promise<bool> in_time;
  FailingGroup group(learned.get_future().share(), in_time);
  {
    horovod::ReductionQueue queue(group, strands.get(), {.cycle_s = 0});
    queue.submit("p", zeros({3}, DType::float32, device));
    CHECK(test::message_of([&] { queue.wait(); }) ==
          "horovod: rank 0 asks for the gradients of p: a failure of the test");
    learned.set_value();
  }
  CHECK(in_time.get_future().get());
}
