// Two workers read six batches of 30 ms each, first inside the monitor, then outside it. Prints how
// many reads ran at the same time.
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/strand/strand.hpp"

namespace {

using namespace lockstep;

constexpr int batches = 6;

struct Shared {
  std::unique_ptr<Monitor> monitor;  // guards begun and finished
  int begun = 0;                     // batches that a worker has taken on
  std::map<int, int> finished;       // what was read, by number of the batch
  std::atomic<int> reading = 0, most = 0;
};

int read(Shared& shared, int number) {
  const int now = ++shared.reading;
  for (int most = shared.most; most < now && !shared.most.compare_exchange_weak(most, now);) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  --shared.reading;
  return number;
}

// Wrong: the worker holds the monitor while it reads.
void read_inside(Shared& shared) {
  while (true) {
    const std::scoped_lock inside(*shared.monitor);
    if (shared.begun == batches) return;
    const int number = shared.begun++;
    shared.finished[number] = read(shared, number);
    shared.monitor->notify_all();
  }
}

void read_outside(Shared& shared) {
  std::unique_lock inside(*shared.monitor);
  while (shared.begun < batches) {
    const int number = shared.begun++;
    inside.unlock();
    const int batch = read(shared, number);
    inside.lock();
    shared.finished[number] = batch;
    shared.monitor->notify_all();
  }
}

int next(Shared& shared, int number) {
  const std::scoped_lock inside(*shared.monitor);
  shared.monitor->wait([&] { return shared.finished.contains(number); });
  return shared.finished.extract(number).mapped();
}

void show(const char* where, const std::function<void(Shared&)>& work) {
  const auto strands = make_thread_strands();
  Shared shared;
  shared.monitor = strands->make_monitor();
  std::vector<std::unique_ptr<Strand>> workers;
  for (const char* name : {"worker 0", "worker 1"}) {
    workers.push_back(strands->start(name, [&] { work(shared); }));
  }
  std::cout << where << ":";
  for (int number = 0; number < batches; ++number) std::cout << " " << next(shared, number);
  for (const auto& worker : workers) worker->join();
  std::cout << "; reads at the same time: " << shared.most << "\n";
}

}  // namespace

int main() {
  show("inside the monitor", read_inside);
  show("outside the monitor", read_outside);
}
