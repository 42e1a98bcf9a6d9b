// How ranks set themselves up, in real time: setup_distributed on a machine that keeps a diary.
//   ./lab run --ranks 4 --prefix none -- build/release/bin/setting-up CASE WHO LATE_MS TIMEOUT_MS
// Rank WHO calls it LATE_MS late, or never where that is negative. In the case "launcher" the
// launcher serves the store, in the case "rank0" rank 0 does. Each rank prints a line for each of
// its steps; the figure of this lesson is drawn from them:
//   CASE RANK away|store|agree|group|ready|gives_up BEGIN END        in tenths of a millisecond
#include <chrono>
#include <iostream>
#include <thread>

#include "engine/apps/this_machine.hpp"
#include "engine/base/error.hpp"
#include "engine/launch/setup_distributed.hpp"

namespace {

using namespace lockstep;

class DiaryMachine final : public apps::ThisMachine {
 public:
  explicit DiaryMachine(std::string first_words) : first_words_(std::move(first_words)) {}

  // One step ends where the next begins.
  void ends(const std::string& step) {
    const double now = now_s();
    std::cout << text(first_words_, " ", step, " ", tenths_of_ms(began_s_), " ", tenths_of_ms(now),
                      "\n")
              << std::flush;
    began_s_ = now;
  }

  std::unique_ptr<comm::Store> connect_store(const comm::Endpoint& at, double timeout_s) override {
    auto store = ThisMachine::connect_store(at, timeout_s);
    ends("store");
    return store;
  }
  std::unique_ptr<comm::ProcessGroup> make_group(comm::Store& store,
                                                 const launch::GroupOptions& options) override {
    ends("agree");
    auto group = ThisMachine::make_group(store, options);
    ends("group");
    return group;
  }

 private:
  static std::int64_t tenths_of_ms(double seconds) {
    return static_cast<std::int64_t>(seconds * 10'000);
  }
  std::string first_words_;
  double began_s_ = now_s();
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  auto variables = apps::variables_of(launch::process_environment());
  if (words.at(0) == "rank0") variables.erase("LOCKSTEP_STORE");
  const std::string& rank = variables.at("RANK");
  const int late_ms = words.at(1) == rank ? std::stoi(words.at(2)) : 0;
  const double timeout_s = std::stod(words.at(3)) / 1000;
  if (late_ms < 0) return 0;

  DiaryMachine machine(words.at(0) + " " + rank);
  std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
  machine.ends("away");
  try {
    const auto session = launch::setup_distributed(variables, machine, timeout_s);
    machine.ends("ready");
    session.group->barrier();
  } catch (const CommError& error) {
    std::cerr << text("rank ", rank, ": ", error.what(), "\n");
    machine.ends("gives_up");
  }
}
