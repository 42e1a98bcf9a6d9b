// bench-link-rank: one rank of ./lab bench links, started by the launcher. With two ranks a message
// goes to the other one and back; with more, all of them run the ring all-reduce of lesson 06,
// whose sum is checked. Rank 0 prints one JSON object: for each size the seconds of each call.
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/apps/bench_sums.hpp"
#include "engine/apps/program.hpp"
#include "engine/apps/ranks.hpp"
#include "engine/base/options.hpp"
#include "engine/collectives/all_reduce_choice.hpp"

namespace {

using namespace lockstep;
using Json = nlohmann::ordered_json;

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Half of a round trip, in seconds; 0 on rank 1, which only answers.
double one_way(comm::ProcessGroup& group, const Tensor& data) {
  const auto began = std::chrono::steady_clock::now();
  if (group.rank() == 1) {
    group.recv(data, 0);
    group.send(data, 0);
    return 0;
  }
  group.send(data, 1);
  group.recv(data, 1);
  return seconds_since(began) / 2;
}

double one_ring(comm::ProcessGroup& group, const Tensor& data) {
  bench::write_values(data.data<float>(), group.rank());
  group.barrier();
  const auto began = std::chrono::steady_clock::now();
  collectives::run_all_reduce(collectives::AllReduce::ring, group, 0, data, ReduceOp::sum);
  const double seconds = seconds_since(began);
  if (const auto wrong = bench::wrong_sum(data.data<float>(), group.size())) {
    throw Error(text("rank ", group.rank(), ": ", *wrong));
  }
  return seconds;
}

int run(int argc, const char* const* argv) {
  Options options("bench-link-rank", "Times messages between ranks and prints JSON.");
  options.option("sizes", "4096", "bytes, with commas")
      .option("calls", "20", "calls of each size")
      .choice("transport", {"gloo", "shm"}, "shm", "how the ranks communicate");
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  CpuDevice device;
  const apps::Ranks ranks = apps::join_launched(comm::transport_of(arguments.get("transport")));
  comm::ProcessGroup& group = *ranks.group;
  const std::int64_t calls = arguments.integer("calls", 1);
  Json all = Json::array();
  std::istringstream sizes(arguments.get("sizes"));
  for (std::string word; std::getline(sizes, word, ',');) {
    const std::int64_t bytes = std::stoll(word);
    const Tensor data = full({bytes / 4}, 1, DType::float32, device);
    const auto call = [&] {
      return group.size() == 2 ? one_way(group, data) : one_ring(group, data);
    };
    for (int warm = 0; warm < 3; ++warm) call();  // the first ones meet cold memory
    group.barrier();
    std::vector<double> seconds;
    for (std::int64_t i = 0; i < calls; ++i) seconds.push_back(call());
    all.push_back(Json{{"bytes", bytes}, {"seconds", seconds}});
  }
  ranks.leave();
  if (group.rank() == 0) std::cout << Json{{"calls", all}}.dump() << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("bench-link-rank", [&] { return run(argc, argv); });
}
