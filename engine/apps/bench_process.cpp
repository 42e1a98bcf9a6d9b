#include "engine/apps/bench_process.hpp"

#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <sstream>

#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"

namespace lockstep::bench {
namespace {

// A word as the shell takes it literally.
std::string quoted(const std::string& word) {
  std::string out(1, '\'');
  for (const char c : word) {
    if (c == '\'') out += "'\\'";  // ends the quotes, a quote, and the next line begins them anew
    out += c;
  }
  out += '\'';
  return out;
}

std::string line_of(const std::vector<std::string>& command) {
  std::string line = "OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 exec";
  for (const std::string& word : command) line.append(1, ' ').append(quoted(word));
  return line;
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
  throw UsageError(text("--ranks: '", word, "' is no size of a group; pass numbers from ", least,
                        " to 64, with commas"));
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

Meeting::Meeting() {
  std::string name = (std::filesystem::temp_directory_path() / "lockstep_bench_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Error("bench: no temporary folder can be made");
  path_ = name;
}

Meeting::~Meeting() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Meeting::next() { return (path_ / std::to_string(++files_)).string(); }

double median(std::vector<double> values) {
  LOCKSTEP_CHECK(!values.empty(), "median: of no values");
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Json run_for_json(const std::vector<std::string>& command) {
  const std::string line = line_of(command);
  std::FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) throw Error("bench: no process can be started");
  std::string output;
  std::array<char, 4096> piece{};
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe)) {
    output.append(piece.data(), count);
  }
  const int status = pclose(pipe);
  while (output.ends_with('\n')) output.pop_back();
  const auto last = output.rfind('\n');
  if (last != std::string::npos) output.erase(0, last + 1);
  Json json = Json::parse(output, nullptr, false);
  if (status != 0 || !json.is_object()) {
    throw Error(text("bench: a measured process failed (status ", status, "), or its last line is ",
                     "no JSON object: ", line));
  }
  return json;
}

Sample run_training(const std::vector<std::string>& command) {
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
    sample.last_loss = json.at("last_loss");
  } catch (const Json::exception& error) {
    throw Error(text("bench: a measured process printed other fields than a training's (",
                     error.what(), "): ", line_of(command)));
  }
  return sample;
}

void require_torch(const std::string& python, const std::string& bench) {
  try {
    run_for_json(
        {python, "-c",
         "import importlib.util as found; print('{}' if found.find_spec('torch') else '')"});
  } catch (const Error&) {
    throw apps::Lacking(text("'", python, "' has no PyTorch; name a Python that has one: ",
                             "TORCH_PYTHON=… ./lab bench ", bench,
                             " --peer torch, or --torch-python …, or leave --peer out"));
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
