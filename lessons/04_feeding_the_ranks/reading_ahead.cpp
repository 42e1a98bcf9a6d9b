// The effect of reading ahead on training, in real time: a dataset that takes 30 ms a batch, a
// training step that takes 20 ms, and 0, 1 or 2 workers. Prints what happened, a line each:
//   WORKERS read|train BATCH LANE BEGIN_MS END_MS
// LANE is the thread that read, from 0. The figure of this lesson is drawn from it.
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "engine/base/error.hpp"
#include "engine/data/loader.hpp"

namespace {

using namespace lockstep;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t batches = 8;
constexpr auto reading = 30ms, training = 20ms;

class Diary {
 public:
  explicit Diary(int workers) : workers_(workers) {}

  double now_ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count();
  }
  void write(const char* what, std::int64_t batch, double begin_ms) {
    const std::scoped_lock lock(guards_lanes_);
    const std::size_t lane =
        lanes_.try_emplace(std::this_thread::get_id(), lanes_.size()).first->second;
    std::cout << text(workers_, " ", what, " ", batch, " ", lane, " ", begin_ms, " ", now_ms(),
                      "\n");
  }

 private:
  int workers_;
  Clock::time_point begin_ = Clock::now();
  std::mutex guards_lanes_;  // and the output
  std::map<std::thread::id, std::size_t> lanes_;
};

// Sample i is the number i; a batch of one sample takes its time.
class SlowDataset final : public data::Dataset {
 public:
  explicit SlowDataset(Diary& diary) : diary_(diary) {}
  std::int64_t size() const override { return batches; }
  std::int64_t inputs() const override { return 1; }
  std::int64_t classes() const override { return batches; }
  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override {
    const double begin_ms = diary_.now_ms();
    std::this_thread::sleep_for(reading);
    diary_.write("read", indices.front(), begin_ms);
    return {zeros({1, 1}, dtype, device), zeros({1}, DType::int64, device)};
  }

 private:
  Diary& diary_;
};

void train_with(int workers) {
  Diary diary(workers);
  CpuDevice device;
  const SlowDataset dataset(diary);
  const auto strands = make_thread_strands();
  const auto in_order = [](int) {
    std::vector<std::int64_t> order(batches);
    std::iota(order.begin(), order.end(), 0);
    return order;
  };
  const data::LoaderOptions options{.batch_size = 1, .workers = workers, .prefetch = 2};
  const auto loader =
      workers == 0 ? data::make_plain_loader(dataset, in_order, options, device)
                   : data::make_prefetching_loader(dataset, in_order, options, device, *strands);
  loader->start(0);
  for (std::int64_t step = 0; loader->next(); ++step) {
    const double begin_ms = diary.now_ms();
    std::this_thread::sleep_for(training);
    diary.write("train", step, begin_ms);
  }
}

}  // namespace

int main() {
  for (const int workers : {0, 1, 2}) train_with(workers);
}
