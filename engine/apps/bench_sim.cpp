// bench sim: how fast the simulator is, beside SimGrid's SMPI [DLM17] where it is asked for. Both
// run the same ring all-reduce on as many ranks, in turns, each time in fresh processes; wall time
// is that of the whole process, from its start to its end, and so is memory.
//   ./lab bench sim --peer smpi
#include <stdlib.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>

#include "engine/apps/bench_report.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/options.hpp"
#include "engine/base/step_counter.hpp"
#include "engine/base/units.hpp"
#include "engine/launch/failure.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::bench;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct BenchCase {
  std::string program;
  int ranks;
  bool sizes_only;
  std::int64_t messages;  // of all ranks together
};

struct Run {
  double wall_s, peak_bytes;
};

struct MeasuredCase {
  BenchCase what;
  std::vector<Run> ours, peer;  // of the same round; peer is empty where there is none
};

std::string name_of(const BenchCase& what) {
  return text(what.program, ", ", counted(what.ranks, "rank"),
              what.sizes_only ? ", sizes only" : "");
}

std::int64_t ranks_in(const std::string& word) {
  constexpr std::int64_t least = 2, most = 32'000;
  std::int64_t ranks = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), ranks);
  if (error != std::errc() || *end != '\0' || ranks < least || ranks > most) {
    throw UsageError(text("--ranks: '", word, "' is not a number of ranks; pass numbers from ",
                          least, " to ", most, ", separated by commas"));
  }
  return ranks;
}

// A ring sends 2(N-1) messages a rank, a tree one up and one down an edge, halving and doubling one
// a level each.
std::vector<BenchCase> cases_of(const Arguments& arguments) {
  std::vector<BenchCase> cases;
  for (const std::string& word : parts_of(arguments.get("ranks"))) {
    const std::int64_t n = ranks_in(word);
    cases.push_back({"ring_all_reduce", static_cast<int>(n), n > 1024, 2 * n * (n - 1)});
  }
  constexpr int large = 16'384, levels = 14;
  cases.push_back({"tree_all_reduce", large, true, 2 * (large - 1)});
  cases.push_back({"halving_doubling_all_reduce", large, true, std::int64_t{2} * levels * large});
  return cases;
}

// Runs a command to its end, with its output thrown away.
Run timed(const Words& command, Runner& runner) {
  const Runner::Ended ended = runner.run(command);
  if (ended.status == 0) return {ended.wall_s, static_cast<double>(ended.peak_bytes)};
  throw Error(text("a measured process failed (", launch::text_of_status(ended.status),
                   "): ", line_of(command)));
}

// The files that SimGrid needs besides the program: a platform of N hosts, each with a link of its
// own.
class Smpi {
 public:
  Smpi(const std::string& source, Runner& runner) : program_(folder_.next()) {
    require();
    timed({"smpicxx", "-O2", "-o", program_, source}, runner);
  }

  Words command(int ranks, std::int64_t count) {
    const std::string hosts = folder_.next(), platform = folder_.next() + ".xml";
    std::ofstream list(hosts);
    for (int rank = 0; rank < ranks; ++rank) list << "node-" << rank << "\n";
    std::ofstream(platform)
        << "<?xml version='1.0'?>\n"
        << "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        << "<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"node-\" suffix=\"\" radical=\"0-"
        << ranks - 1 << "\" speed=\"1Gf\" bw=\"10GBps\" lat=\"2.5us\"/>\n</platform>\n";
    return {"smpirun",
            "-np",
            std::to_string(ranks),
            "-platform",
            platform,
            "-hostfile",
            hosts,
            "--cfg=smpi/simulate-computation:no",
            "--log=root.thres:critical",
            program_,
            std::to_string(count)};
  }

 private:
  static void require() {
    for (const char* tool : {"smpicxx", "smpirun"}) {
      if (std::system(text("command -v ", tool, " > /dev/null 2>&1").c_str()) == 0) continue;
      throw apps::Lacking(text(tool, " is not installed, so nothing was compared: ",
                               "sudo apt install libsimgrid-dev, or leave --peer out"));
    }
  }
  Meeting folder_;
  std::string program_;
};

// Adds rounds to `measured`, of which each has both sides.
void measure(MeasuredCase& measured, std::int64_t rounds, Smpi* smpi, Runner& runner,
             StepCounter& progress) {
  const BenchCase& what = measured.what;
  const auto here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::int64_t count = std::max<std::int64_t>(1024, what.ranks);
  Words ours{(here / "sim").string(), "--ranks",   std::to_string(what.ranks), "--count",
             std::to_string(count),   what.program};
  if (what.sizes_only) ours.push_back("--sizes-only");
  const bool compared = smpi != nullptr && what.ranks <= 1024;
  for (std::int64_t round = 0; round < rounds; ++round) {
    progress.begin(text(name_of(what), ": round ", round + 1, " of ", rounds));
    std::optional<Run> our_run, peer_run;
    if (round % 2 == 0) our_run = timed(ours, runner);
    if (compared) peer_run = timed(smpi->command(what.ranks, count), runner);
    if (round % 2 == 1) our_run = timed(ours, runner);
    measured.ours.push_back(*our_run);
    if (peer_run) measured.peer.push_back(*peer_run);
  }
}

struct SimQuantity {
  const char* name;
  const char* unit;
  double (*of)(const Run&, const BenchCase&);
};
constexpr std::array quantities{
    SimQuantity{"wall", "s", [](const Run& run, const BenchCase&) { return run.wall_s; }},
    SimQuantity{"messages", "1/s",
                [](const Run& run, const BenchCase& what) {
                  return static_cast<double>(what.messages) / run.wall_s;
                }},
    SimQuantity{"memory per rank", "bytes",
                [](const Run& run, const BenchCase& what) { return run.peak_bytes / what.ranks; }}};

Json rows_of(const MeasuredCase& measured) {
  Json rows = Json::array();
  for (const SimQuantity& quantity : quantities) {
    std::vector<double> ours, peer, ratios;
    for (std::size_t i = 0; i < measured.ours.size(); ++i) {
      ours.push_back(quantity.of(measured.ours[i], measured.what));
      if (i >= measured.peer.size()) continue;
      peer.push_back(quantity.of(measured.peer[i], measured.what));
      ratios.push_back(ours.back() / peer.back());
    }
    Json row{{"case", name_of(measured.what) + ", " + quantity.name},
             {"ranks", measured.what.ranks},
             {"ours", median(ours)},
             {"peer", peer.empty() ? Json(nullptr) : Json(median(peer))},
             {"unit", quantity.unit}};
    if (!peer.empty()) {
      row["ratio_median"] = median(ratios);
      row["ratio_min"] = *std::ranges::min_element(ratios);
      row["ratio_max"] = *std::ranges::max_element(ratios);
    }
    rows.push_back(row);
  }
  return rows;
}

std::string table_of(const Json& report, const Missing& missing) {
  std::ostringstream out;
  out << note_of(missing) << "machine  " << report["machine"]["processor"].get<std::string>()
      << ", " << counted(report["machine"]["cores"], "core") << ", load "
      << report["machine"]["load"] << "; medians of " << counted(report["rounds"], "round") << "\n"
      << std::left << std::setw(73) << "" << std::right << std::setw(13) << "ours" << std::setw(13)
      << "SMPI"
      << "   ours : SMPI\n";
  const auto number = [](const Json& value) {
    std::ostringstream text;
    text << std::setprecision(4);
    value.is_null() ? text << "-" : text << value.get<double>();
    return text.str();
  };
  for (const Json& row : report["rows"]) {
    out << std::left << std::setw(73)
        << row["case"].get<std::string>() + ", " + row["unit"].get<std::string>() << std::right
        << std::setw(13) << number(row["ours"]) << std::setw(13) << number(row["peer"]);
    if (row.contains("ratio_median")) {
      out << "   " << number(row["ratio_median"]) << " (" << number(row["ratio_min"]) << " … "
          << number(row["ratio_max"]) << ")";
    }
    out << "\n";
  }
  return out.str();
}

int run(int argc, const char* const* argv) {
  Options options("lab bench sim",
                  "Times the simulator. With --peer smpi, it also times SimGrid's SMPI, on up to "
                  "1024 ranks.");
  options
      .option("ranks", "1024,4096", "numbers of ranks in the ring all-reduce, separated by commas")
      .option("repeats", "3", "rounds; each starts new processes for both sides")
      .choice("peer", {"none", "smpi"}, "none", "SimGrid's MPI")
      .option("smpi-source", "tests/bench/smpi_ring.cpp", "the peer's program")
      .flag("json", "print one JSON document instead of the table");
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  const std::vector<BenchCase> cases = cases_of(arguments);
  const std::int64_t rounds = arguments.integer("repeats", 1);
  Runner runner;
  std::unique_ptr<Smpi> smpi;
  if (arguments.get("peer") == "smpi") {
    smpi = std::make_unique<Smpi>(arguments.get("smpi-source"), runner);
  }
  const Machine machine = this_machine();
  Json rows = Json::array(), groups = Json::array();
  Missing missing;
  StepCounter progress(cases.size() * static_cast<std::size_t>(rounds));
  for (const BenchCase& what : cases) {
    MeasuredCase measured{what, {}, {}};
    try {
      measure(measured, rounds, smpi.get(), runner, progress);
    } catch (const Interrupted& signal) {
      missing.interrupted = signal.what();
    } catch (const Error& error) {
      missing.failed.push_back(text(name_of(what), ": ", error.what()));
    }
    if (!measured.ours.empty()) {
      groups.push_back(what.ranks);
      for (const Json& row : rows_of(measured)) rows.push_back(row);
    }
    if (!missing.interrupted.empty()) break;
  }
  progress.clear();
  Json report{
      {"bench", "sim"},
      {"ranks", groups},
      {"rounds", rounds},
      {"rows", rows},
      {"machine",
       {{"processor", machine.processor}, {"cores", machine.cores}, {"load", machine.load}}}};
  add_to(report, missing);
  say(missing, "lab bench sim");
  std::cout << (arguments.flag("json") ? report.dump(1) + "\n" : table_of(report, missing));
  return missing.any() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab bench sim", [&] { return run(argc, argv); });
}
