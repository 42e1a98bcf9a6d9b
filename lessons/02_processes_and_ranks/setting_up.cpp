// How ranks set themselves up, in real time: setup_distributed on a machine that keeps a diary.
//   ./lab run --ranks 4 --prefix none -- build/release/bin/setting-up CASE WHO LATE_MS TIMEOUT_MS
// Rank WHO calls it LATE_MS late, or never where that is negative. In the case "launcher" the
// launcher serves the store, in the case "rank0" rank 0 does. Each rank prints a line for each of
// its steps; the figure of this lesson is drawn from them:
//   CASE RANK away|store|agree|group|ready|gives_up BEGIN_MS END_MS
#include <chrono>
#include <iostream>
#include <thread>

#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/comm/gloo.hpp"
#include "engine/comm/store_rendezvous.hpp"
#include "engine/comm/tcp_store.hpp"
#include "engine/launch/environment.hpp"
#include "engine/launch/setup_distributed.hpp"

namespace {

using namespace lockstep;

// All processes of one machine have the same steady clock.
double now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

// One step ends where the next begins.
class Diary {
 public:
  Diary(std::string first_words) : first_words_(std::move(first_words)) {}
  void ends(const std::string& step) {
    const double now = now_ms();
    std::cout << text(first_words_, " ", step, " ", static_cast<std::int64_t>(began_ms_ * 10), " ",
                      static_cast<std::int64_t>(now * 10), "\n")
              << std::flush;
    began_ms_ = now;
  }

 private:
  std::string first_words_;
  double began_ms_ = now_ms();
};

struct Served final : launch::HostedStore {
  explicit Served(const comm::Endpoint& at) : server(at.port, at.host) {}
  comm::StoreServer server;
};

// This machine: processors, sockets, and a clock that does not stand still.
class ThisMachine final : public launch::Machine {
 public:
  explicit ThisMachine(Diary& diary) : diary_(diary) {}

  int gpus() override { return 0; }
  double now_s() override { return now_ms() / 1000; }
  std::unique_ptr<launch::HostedStore> host_store(const comm::Endpoint& at) override {
    return std::make_unique<Served>(at);
  }
  std::unique_ptr<comm::Store> connect_store(const comm::Endpoint& at, double timeout) override {
    auto store = comm::connect_store(at.host, at.port, timeout);
    diary_.ends("store");
    return store;
  }
  std::unique_ptr<comm::ProcessGroup> make_group(comm::Store& store,
                                                 const launch::GroupOptions& options) override {
    diary_.ends("agree");
    auto group = comm::make_gloo_group(store, options.rank, options.size,
                                       {.meet_timeout_s = options.timeout_s});
    diary_.ends("group");
    return group;
  }

 private:
  Diary& diary_;
};

launch::WorkerEnv variables_of_this_process(bool launcher_serves) {
  launch::WorkerEnv variables;
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT",
                           "LOCKSTEP_STORE", "TORCHELASTIC_RESTART_COUNT"}) {
    if (const auto value = launch::process_environment()(name)) variables[name] = *value;
  }
  if (!launcher_serves) variables.erase("LOCKSTEP_STORE");
  return variables;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto variables = variables_of_this_process(words.at(0) == "launcher");
  const int late_ms = words.at(1) == variables.at("RANK") ? std::stoi(words.at(2)) : 0;

  Diary diary(words.at(0) + " " + variables.at("RANK"));
  if (late_ms < 0) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
  diary.ends("away");

  ThisMachine machine(diary);
  try {
    const double timeout_s = std::stod(words.at(3)) / 1000;
    const auto session = launch::setup_distributed(variables, machine, timeout_s);
    diary.ends("ready");
    session.group->barrier();
  } catch (const CommError& error) {
    std::cerr << text("rank ", variables.at("RANK"), ": ", error.what(), "\n");
    diary.ends("gives_up");
  }
}
