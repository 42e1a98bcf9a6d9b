// Each round runs every side once, the first one changing; a time is the median of a process's
// calls, and a ratio is of one round.
//   algbw = S / t;  busbw = algbw · 2(N-1)/N, as nccl-tests define them
//   limit = the time in which two processes move 2·N·S bytes by x = y = x + y, measured in the
//   round
#include "engine/apps/bench_collective.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>

#include "engine/apps/bench_process.hpp"
#include "engine/apps/bench_report.hpp"
#include "engine/apps/gpu_ranks.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/base/step_counter.hpp"
#include "engine/base/units.hpp"
#include "engine/comm/gloo.hpp"

namespace lockstep::bench {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Options declared() {
  Options options("lab bench",
                  "Times the in-place float32 all-reduce on N processes, beside the peers that you "
                  "name and the memory-bandwidth limit.");
  options.words("all_reduce", "what to measure")
      .option("ranks", "2,4", "numbers of ranks, separated by commas")
      .option("sizes", "4K,64K,1M,16M,256M",
              "buffer sizes in bytes, separated by commas; K and M mean KiB and MiB")
      .option("peer", "none", "torch, mpi, or torch,mpi")
      .choice("transport", {"auto", "gloo", "shm"}, "auto", "our transport; see train --help")
      .choice("backend", {"gloo", "nccl"}, "gloo",
              "how ranks talk: through the host, or from GPU to GPU, one a rank")
      .flag("paper", "--backend nccl: without a GPU, slowly; its times say nothing about one")
      .only_with({"paper"}, "--backend nccl")
      .only_if({"peer", "transport"}, "is of processes on the CPU; leave out --backend nccl",
               [](const Arguments& arguments) { return !arguments.has("--backend nccl"); })
      .option("repeats", "5", "rounds; each starts new processes for all sides")
      .flag("json", "print one JSON document instead of the table")
      .option("torch-python", "python3", "a Python that has PyTorch; or set TORCH_PYTHON")
      .option("torch-script", "tests/bench/torch_all_reduce.py", "PyTorch's program")
      .option("mpirun", "mpirun", "MPI's launcher");
  return options;
}

std::int64_t bytes_of(const std::string& size) {
  std::size_t end = 0;
  std::int64_t bytes = 0;
  try {
    bytes = std::stoll(size, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = size.substr(end);
  if (unit == "K") bytes <<= 10;
  if (unit == "M") bytes <<= 20;
  if (end == 0 || (!unit.empty() && unit != "K" && unit != "M") || bytes < 4 ||
      bytes > (std::int64_t{1} << 32) || bytes % 4 != 0) {
    throw UsageError(text("--sizes: '", size,
                          "' is not a size; float32 buffers take multiples of 4 ",
                          "bytes up to 4096M, such as 4K or 16M"));
  }
  return bytes;
}

std::string shown(std::int64_t bytes) {
  if (bytes % (1 << 20) == 0) return text(bytes >> 20, " MiB");
  return bytes % 1024 == 0 ? text(bytes >> 10, " KiB") : text(bytes, " B");
}

// One side: a name for the table, and its command without sizes.
struct Side {
  std::string name;
  Words command;
  double scale = 1;  // of its seconds
  std::string program;
  std::map<std::int64_t, std::vector<double>> seconds;  // by bytes, one a round
  bool failed = false;                                  // it is not run again
  std::vector<double> of(std::int64_t bytes) const {
    const auto found = seconds.find(bytes);
    return found == seconds.end() ? std::vector<double>{} : found->second;
  }
};

std::vector<Side> sides_of(const Arguments& arguments, int ranks, Runner& runner) {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string ours = here / "bench-all-reduce";
  const std::string& transport = arguments.get("transport");
  const auto over = [&](const std::string& name, Words words) {
    words.insert(words.begin(), {ours, "--transport", transport});
    return Side{name, launched(ranks, words), 1, "", {}, false};
  };
  if (arguments.has("--backend nccl")) {
    Words command{ours, "--backend", "nccl"};
    if (arguments.flag("paper")) command.push_back("--paper");
    return {Side{arguments.flag("paper") ? "ours, NCCL on paper" : "ours, over NCCL",
                 launched(ranks, command),
                 1,
                 "",
                 {},
                 false}};
  }
  std::vector<Side> sides{over("ours", {}), over("ours, the group's buffers", {"--what", "group"})};
  if (transport != "gloo" && comm::has_tcp_groups()) {
    sides.push_back({"ours, over Gloo's TCP",
                     launched(ranks, {ours, "--transport", "gloo"}),
                     1,
                     "",
                     {},
                     false});
  }
  for (const std::string& peer : parts_of(arguments.get("peer"))) {
    if (peer == "none") continue;
    if (peer == "torch") {
      runner.require_torch(arguments.get("torch-python"), "all_reduce");
      const Words command{arguments.get("torch-python"), arguments.get("torch-script")};
      sides.push_back({"PyTorch", launched(ranks, command), 1, "", {}, false});
    } else if (peer == "mpi") {
      const std::string program = here / "bench-mpi-all-reduce";
      if (!fs::exists(program) || !runner.succeeds({arguments.get("mpirun"), "--version"})) {
        throw apps::Lacking(
            "MPI is not installed, and only this comparison needs it. Run apt-get install "
            "libopenmpi-dev openmpi-bin and cmake --preset release, then this command again; or "
            "leave mpi out of --peer");
      }
      sides.push_back({"MPI",
                       {arguments.get("mpirun"), "--allow-run-as-root", "--oversubscribe", "-np",
                        std::to_string(ranks), program},
                       1,
                       "",
                       {},
                       false});
    } else {
      throw UsageError(text("--peer: '", peer, "' is not one of torch, mpi, none"));
    }
  }
  // A pass moves 4·S bytes in each of two processes, and the limit is the time for 2·N·S.
  sides.push_back({"memory-bandwidth limit",
                   launched(2, {ours, "--what", "memory"}),
                   ranks / 4.0,
                   "",
                   {},
                   false});
  return sides;
}

// One process of a side, which measures all sizes.
void run_side(Side& side, const std::vector<std::int64_t>& sizes, Runner& runner,
              Meeting& meeting) {
  std::string list, calls;
  for (const std::int64_t bytes : sizes) {
    list += text(list.empty() ? "" : ",", bytes);
    const std::int64_t count = std::clamp<std::int64_t>((std::int64_t{1} << 28) / bytes, 3, 50);
    calls += text(calls.empty() ? "" : ",", count);
  }
  Words command = side.command;
  if (side.name == "PyTorch") command.insert(command.end(), {"--meet", meeting.next()});
  command.insert(command.end(), {"--sizes", list, "--calls", calls});
  const Json json = runner.run_for_json(command);
  std::map<std::int64_t, double> seconds;
  try {
    side.program =
        text(json.at("program").get<std::string>(), ", ", json.at("how").get<std::string>());
    for (const Json& call : json.at("calls")) {
      seconds[call.at("bytes")] =
          side.scale * median(call.at("seconds").get<std::vector<double>>());
    }
  } catch (const Json::exception& error) {
    throw Error(text("its output lacks the expected times of calls (", error.what(), ")"));
  }
  for (const std::int64_t bytes : sizes) {
    if (!seconds.contains(bytes)) throw Error(text("it printed no time for ", bytes, " bytes"));
  }
  for (const std::int64_t bytes : sizes) side.seconds[bytes].push_back(seconds[bytes]);
}

struct Range {
  double middle, least, most;
};
Range range_of(const std::vector<double>& values) {
  return {median(values), std::ranges::min(values), std::ranges::max(values)};
}

struct Line {
  int ranks;
  std::int64_t bytes;
  std::string side, program;
  Range us, ratio;               // ratio: ours : this side, round by round
  double ours_us, algbw, busbw;  // GB/s
};

// A side that was not measured has no line, and its ratios are of the rounds that both sides have.
std::vector<Line> lines_of(const std::vector<Side>& sides, const std::vector<std::int64_t>& sizes,
                           int ranks) {
  std::vector<Line> lines;
  const double none = std::nan("");
  for (const std::int64_t bytes : sizes) {
    const std::vector<double> ours = sides.front().of(bytes);
    for (const Side& side : sides) {
      const std::vector<double> theirs = side.of(bytes);
      if (theirs.empty()) continue;
      std::vector<double> us, ratios;
      for (const double seconds : theirs) us.push_back(1e6 * seconds);
      for (std::size_t round = 0; round < std::min(ours.size(), theirs.size()); ++round) {
        ratios.push_back(ours[round] / theirs[round]);
      }
      const double algbw = static_cast<double>(bytes) / median(us) / 1e3;
      lines.push_back({ranks, bytes, side.name, side.program, range_of(us),
                       ratios.empty() ? Range{none, none, none} : range_of(ratios),
                       ours.empty() ? none : 1e6 * median(ours), algbw,
                       algbw * 2 * (ranks - 1) / ranks});
    }
  }
  return lines;
}

std::string table_of(const std::vector<Line>& lines, const Machine& machine, std::int64_t rounds,
                     const Missing& missing) {
  std::ostringstream out;
  out << note_of(missing) << "machine  " << machine.processor << ", "
      << counted(machine.cores, "core") << ", load " << std::fixed << std::setprecision(1)
      << machine.load << "\nrounds   " << rounds
      << ", each with new processes for every side; every sum was checked\n\n"
      << "ranks      size  side                              us (min … max)    algbw  busbw GB/s  "
         "ours/side (min … max)\n";
  for (const Line& line : lines) {
    out << std::setw(5) << line.ranks << std::setw(10) << shown(line.bytes) << "  " << std::left
        << std::setw(26) << line.side << std::right << std::setprecision(1) << std::setw(10)
        << line.us.middle << " (" << line.us.least << " … " << line.us.most << ")"
        << std::setprecision(2) << std::setw(9) << line.algbw << std::setw(8) << line.busbw
        << std::setw(10);
    if (std::isnan(line.ratio.middle)) {
      out << "-\n";
    } else {
      out << line.ratio.middle << " (" << line.ratio.least << " … " << line.ratio.most << ")\n";
    }
  }
  return out.str();
}

Json report_of(const std::vector<Line>& lines, const Machine& machine, std::int64_t rounds,
               const Missing& missing) {
  Json rows = Json::array(), groups = Json::array();
  for (const Line& line : lines) {
    if (groups.empty() || groups.back() != line.ranks) groups.push_back(line.ranks);
    rows.push_back({{"case", text(line.ranks, " ranks, ", shown(line.bytes), ", ", line.side)},
                    {"ours", line.ours_us},
                    {"peer", line.us.middle},
                    {"unit", "us"},
                    {"ratio_median", line.ratio.middle},
                    {"ratio_min", line.ratio.least},
                    {"ratio_max", line.ratio.most},
                    {"ranks", line.ranks},
                    {"bytes", line.bytes},
                    {"peer_min", line.us.least},
                    {"peer_max", line.us.most},
                    {"algbw_gb_per_s", line.algbw},
                    {"busbw_gb_per_s", line.busbw},
                    {"peer_is", line.program}});
  }
  Json document{
      {"bench", "all_reduce"},
      {"ranks", groups},
      {"rounds", rounds},
      {"rows", rows},
      {"machine",
       {{"processor", machine.processor}, {"cores", machine.cores}, {"load", machine.load}}}};
  add_to(document, missing);
  return document;
}

// The rounds of one group: every side once in each, the first one changing.
void run_rounds(std::vector<Side>& sides, const std::vector<std::int64_t>& sizes,
                const std::string& ranks, std::int64_t rounds, Runner& runner, Meeting& meeting,
                StepCounter& progress, Missing& missing) {
  for (std::size_t round = 0; round < static_cast<std::size_t>(rounds); ++round) {
    for (std::size_t turn = 0; turn < sides.size(); ++turn) {
      Side& side = sides[(turn + round) % sides.size()];
      progress.begin(text(ranks, " ranks: round ", round + 1, " of ", rounds, ", ", side.name));
      if (side.failed) continue;
      try {
        run_side(side, sizes, runner, meeting);
      } catch (const Error& error) {
        side.failed = true;
        missing.failed.push_back(text(side.name, ", ", ranks, " ranks: ", error.what()));
      }
    }
  }
}

}  // namespace

int run_all_reduce(int argc, const char* const* argv) {
  const Options options = declared();
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  const std::int64_t repeats = arguments.integer("repeats", 1);
  std::vector<std::int64_t> sizes;
  for (const std::string& size : parts_of(arguments.get("sizes"))) sizes.push_back(bytes_of(size));
  const Words groups = parts_of(arguments.get("ranks"));
  if (sizes.empty() || groups.empty()) throw UsageError("--ranks and --sizes each need a number");
  if (arguments.has("--backend nccl")) {
    int most = 1;
    for (const std::string& group : groups) most = std::max(most, ranks_of(group, 2));
    apps::check_gpus(arguments, most);
  }
  Runner runner;
  std::vector<std::vector<Side>> of_groups;
  std::size_t steps = 0;
  for (const std::string& group : groups) {
    of_groups.push_back(sides_of(arguments, ranks_of(group, 2), runner));
    steps += of_groups.back().size() * static_cast<std::size_t>(repeats);
  }
  const Machine machine = this_machine();
  Meeting meeting;
  StepCounter progress(steps);
  Missing missing;
  std::vector<Line> lines;
  try {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      run_rounds(of_groups[i], sizes, groups[i], repeats, runner, meeting, progress, missing);
    }
  } catch (const Interrupted& signal) {
    missing.interrupted = signal.what();
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (Line& line : lines_of(of_groups[i], sizes, ranks_of(groups[i], 2))) {
      lines.push_back(std::move(line));
    }
  }
  progress.clear();
  say(missing, "lab bench");
  std::cout << (arguments.flag("json") ? report_of(lines, machine, repeats, missing).dump(1) + "\n"
                                       : table_of(lines, machine, repeats, missing));
  if (arguments.flag("paper")) {
    std::cerr << "lab bench: on paper, times are those of an interpreter, not of a GPU\n";
  }
  return missing.any() ? 1 : 0;
}

}  // namespace lockstep::bench
