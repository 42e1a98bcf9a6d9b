#include "engine/apps/bench_process.hpp"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <sstream>

#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/base/stopwatch.hpp"
#include "engine/launch/cpu_isa.hpp"
#include "engine/launch/failure.hpp"
#include "engine/launch/process.hpp"

namespace lockstep::bench {
namespace {

using Words = std::vector<std::string>;

// Variables for one thread, and for a peer and its libraries to keep to the instructions of ours.
Words environment_of(kernels::Isa isa) {
  Words set{"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1"};
  if (isa == kernels::widest_isa()) return set;
  if (isa == kernels::Isa::avx2) {
    set.insert(set.end(), {"ATEN_CPU_CAPABILITY=avx2", "ONEDNN_MAX_CPU_ISA=AVX2",
                           "MKL_ENABLE_INSTRUCTIONS=AVX2"});
  } else {
    set.insert(set.end(), {"ATEN_CPU_CAPABILITY=default", "ONEDNN_MAX_CPU_ISA=SSE41",
                           "MKL_ENABLE_INSTRUCTIONS=SSE4_2"});
  }
  return set;
}

Words own_environment() {
  Words all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

// Reads what is there; at the end of the stream the descriptor is closed.
void drain(comm::Descriptor& from, std::string& into) {
  std::array<char, 4096> piece{};
  while (from.get() >= 0) {
    const ssize_t count = read(from.get(), piece.data(), piece.size());
    if (count < 0) return;
    if (count == 0) from.reset();
    into.append(piece.data(), static_cast<std::size_t>(count));
  }
}

// Launchers end their ranks when they are asked to; who does not is killed with its group.
void end(launch::Process& process) {
  constexpr double patience_s = 5;
  process.signal(SIGTERM);
  pollfd entry{process.exit_fd(), POLLIN, 0};
  poll(&entry, 1, static_cast<int>(patience_s * 1000));
  process.try_reap();
}

}  // namespace

std::vector<std::string> launched(int ranks, const std::vector<std::string>& command) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::vector<std::string> all{(here / "lockstep-run").string(),
                               "--ranks",
                               std::to_string(ranks),
                               "--prefix",
                               "others",
                               "--"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

int ranks_of(const std::string& word, int least) {
  if (!word.empty() && word.size() < 4 && word.find_first_not_of("0123456789") == word.npos) {
    if (const int ranks = std::stoi(word); ranks >= least && ranks <= 64) return ranks;
  }
  throw UsageError(text("--ranks: '", word, "' is not a group size; pass numbers from ", least,
                        " to 64, separated by commas"));
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

std::string Meeting::next() { return (folder_.path() / std::to_string(++files_)).string(); }

double median(std::vector<double> values) {
  LOCKSTEP_CHECK(!values.empty(), "median: there are no values");
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::string line_of(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return line;
}

Runner::Runner() : environment_(environment_of(launch::cpu_isa(launch::process_environment()))) {}

Runner::Ended Runner::run(const std::vector<std::string>& command) {
  launch::ProcessOptions options;
  options.command = {"env"};
  for (const Words* words : {&environment_, &command}) {
    options.command.insert(options.command.end(), words->begin(), words->end());
  }
  options.environment = own_environment();
  options.error = launch::Stream::inherit;
  options.signal_mask = signals_.before();
  const Stopwatch watch;
  launch::Process process(options);
  Ended ended;
  while (true) {
    if (const auto number = signals_.take()) {
      end(process);
      throw Interrupted("interrupted by " + launch::name_of_signal(*number));
    }
    if (const auto status = process.try_reap()) {
      ended.wall_s = watch.seconds();
      ended.status = *status;
      ended.peak_bytes = std::int64_t{process.used().ru_maxrss} * 1024;
      drain(process.output(), ended.output);
      return ended;
    }
    std::array<pollfd, 3> entries{{{signals_.fd(), POLLIN, 0},
                                   {process.exit_fd(), POLLIN, 0},
                                   {process.output().get(), POLLIN, 0}}};
    poll(entries.data(), entries.size(), -1);
    drain(process.output(), ended.output);
  }
}

bool Runner::succeeds(const std::vector<std::string>& command) {
  Words silent{"sh", "-c", "exec \"$@\" 2>/dev/null", "sh"};
  silent.insert(silent.end(), command.begin(), command.end());
  return run(silent).status == 0;
}

Json Runner::run_for_json(const std::vector<std::string>& command) {
  auto [output, status, wall_s, peak_bytes] = run(command);
  while (output.ends_with('\n')) output.pop_back();
  const auto last = output.rfind('\n');
  if (last != std::string::npos) output.erase(0, last + 1);
  Json json = Json::parse(output, nullptr, false);
  if (status != 0 || !json.is_object()) {
    const std::string how =
        status != 0 ? launch::text_of_status(status) : "its last line is not a JSON object";
    throw Error(text("a measured process failed (", how, "): ", line_of(command)));
  }
  return json;
}

Sample Runner::run_training(const std::vector<std::string>& command) {
  using Clock = std::chrono::steady_clock;
  const double began_s = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  const Json json = run_for_json(command);
  Sample sample;
  try {
    sample.program = json.at("program");
    sample.how = json.at("how");
    sample.steps_per_s = median(json.at("steps_per_s"));
    sample.steps_per_cpu_s = median(json.at("steps_per_cpu_s"));
    sample.peak_mib = json.at("peak_rss_bytes").get<double>() / (1 << 20);
    sample.startup_s = json.at("ready_at_s").get<double>() - began_s;
    if (json.contains("hidden")) sample.hidden = 100 * json.at("hidden").get<double>();
    sample.first_loss = json.at("first_loss");
    sample.early_loss = json.at("early_loss");
    sample.last_loss = json.at("last_loss");
  } catch (const Json::exception& error) {
    throw Error(text("a measured process did not print the fields of a training run (",
                     error.what(), "): ", line_of(command)));
  }
  return sample;
}

void Runner::require_torch(const std::string& python, const std::string& bench) {
  try {
    run_for_json(
        {python, "-c",
         "import importlib.util as found; print('{}' if found.find_spec('torch') else '')"});
  } catch (const Error&) {
    throw apps::Lacking(text(
        "'", python, "' has no PyTorch; name a Python that has it: ", "TORCH_PYTHON=… ./lab bench ",
        bench, " --peer torch, or --torch-python …, or leave --peer out"));
  }
}

int pin_to_one_core() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (int core = CPU_SETSIZE - 1; core >= 0; --core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 ? core : -1;
  }
  return -1;
}

}  // namespace lockstep::bench
