// bench-all-reduce: one rank of the all-reduce benchmark, started by the launcher. Before each call
// every rank writes its values anew and all meet in a barrier; after it every rank checks the sum.
// Rank 0 prints one JSON object: for each size the seconds of each call, as the mean of the ranks.
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "engine/apps/bench_sums.hpp"
#include "engine/apps/gpu_ranks.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/options.hpp"

namespace {

using namespace lockstep;
using Json = nlohmann::ordered_json;

std::vector<std::int64_t> numbers_of(const Arguments& arguments, const std::string& name) {
  std::vector<std::int64_t> numbers;
  std::istringstream list(arguments.get(name));
  for (std::string word; std::getline(list, word, ',');) {
    try {
      numbers.push_back(std::stoll(word));
    } catch (const std::exception&) {
      throw UsageError(text("--", name, ": '", word, "' is not a number"));
    }
  }
  return numbers;
}

// Seconds that `work` takes on this rank once all are ready; the mean of the ranks.
template <typename Work>
double timed(comm::ProcessGroup& group, Device& device, const Work& work) {
  using Clock = std::chrono::steady_clock;
  group.barrier();
  const auto began = Clock::now();
  work();
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  const Tensor sum = full({1}, seconds, DType::float64, device);
  group.all_reduce(sum, ReduceOp::sum);
  return sum.item() / group.size();
}

// The host writes and checks; on a GPU the call has ended when the GPU has done it.
double one_call(comm::ProcessGroup& group, const Tensor& data) {
  Device& device = data.device();
  data.copy_(written_by_host(
      data.shape(), data.dtype(), device, MemoryKind::buffers,
      [&](const Tensor& to) { bench::write_values(to.data<float>(), group.rank()); }));
  const bool away = device.numbers() == Numbers::away;
  if (away) device.settle();
  const double seconds = timed(group, device.host(), [&] {
    group.all_reduce(data, ReduceOp::sum);
    if (away) device.settle();
  });
  const Tensor sum = to_host(data);
  if (const auto wrong = bench::wrong_sum(sum.data<float>(), group.size())) {
    throw Error(text("rank ", group.rank(), ": ", *wrong));
  }
  return seconds;
}

// Seconds of one pass x = y = x + y over arrays of `bytes`, by all ranks at once: it reads and
// writes each array once. Small arrays take many passes, so that the barrier does not count.
double one_pass(comm::ProcessGroup& group, std::int64_t bytes, Device& device) {
  const Tensor x = zeros({bytes / 4}, DType::float32, device),
               y = zeros(x.shape(), x.dtype(), device);
  const std::span<float> a = x.data<float>(), b = y.data<float>();
  const std::int64_t passes = std::max<std::int64_t>(1, (std::int64_t{1} << 28) / bytes);
  return timed(group, device,
               [&] {
                 for (std::int64_t pass = 0; pass < passes; ++pass) {
                   for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] = a[i] + b[i];
                 }
               }) /
         static_cast<double>(passes);
}

int run(int argc, const char* const* argv) {
  Options options("bench-all-reduce", "Times the all-reduce of one group and prints JSON.");
  options.option("sizes", "4096", "bytes, separated by commas")
      .option("calls", "5", "calls of each size, separated by commas")
      .choice("what", {"ordinary", "group", "memory"}, "ordinary",
              "our own buffers, the group's buffers, or the memory-bandwidth limit")
      .choice("transport", {"auto", "gloo", "shm"}, "auto", "how ranks on one host communicate");
  options.choice("backend", {"gloo", "nccl"}, "gloo", "nccl: each rank has a GPU");
  apps::add_device(options);
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  const bool nccl = arguments.has("--backend nccl");
  const apps::Computing computing(arguments, nccl ? apps::seat_of_process() : apps::Seat{});
  Device& device = computing.device();
  const comm::Transport transport = comm::transport_of(arguments.get("transport"));
  const apps::Ranks ranks =
      nccl ? apps::join_gpus(device, transport) : apps::join_launched(transport);
  const auto& group = ranks.group;
  const auto sizes = numbers_of(arguments, "sizes"), calls = numbers_of(arguments, "calls");
  if (sizes.size() != calls.size()) throw UsageError("--sizes and --calls differ in length");
  const std::string& what = arguments.get("what");
  Json all = Json::array();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t count = sizes[i] / 4;
    std::vector<double> seconds;
    if (what == "memory") {
      for (std::int64_t call = 0; call < 3; ++call) {
        seconds.push_back(one_pass(*group, sizes[i], device));
      }
    } else {
      const Tensor data = what == "group" ? group->allocate_buffer(count, DType::float32, device)
                                          : empty({count}, DType::float32, device);
      one_call(*group, data);  // the first call meets cold memory
      for (std::int64_t call = 0; call < calls[i]; ++call) {
        seconds.push_back(one_call(*group, data));
      }
    }
    all.push_back(Json{{"bytes", sizes[i]}, {"seconds", seconds}});
  }
  ranks.leave();
  if (!computing.ends_well()) return 1;
  if (group->rank() != 0) return 0;
  std::cout << Json{{"program", "Lockstep"}, {"how", group->backend()}, {"calls", all}}.dump()
            << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("bench-all-reduce", [&] { return run(argc, argv); });
}
