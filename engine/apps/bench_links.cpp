// ./lab bench links: α and β of this machine, from messages that go to another rank and back,
// fitted for shared memory and for TCP; what they say of a ring all-reduce, and what a real one
// takes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>

#include "engine/apps/bench_process.hpp"
#include "engine/apps/bench_report.hpp"
#include "engine/apps/link_fit.hpp"
#include "engine/apps/log_plot.hpp"
#include "engine/apps/measured_collectives.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/destination.hpp"
#include "engine/base/options.hpp"
#include "engine/base/step_counter.hpp"
#include "engine/base/units.hpp"
#include "engine/comm/gloo.hpp"
#include "engine/sim/model/cluster.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::bench;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// The sizes of a message, and of the buffer that the ring sums. The shortest is one number.
const std::vector<std::int64_t> message_bytes{4,       64,      512,     4 << 10, 32 << 10,
                                              1 << 18, 1 << 20, 4 << 20, 16 << 20};
const std::vector<std::int64_t> ring_bytes{4 << 10, 64 << 10, 1 << 20, 16 << 20};

// How ranks of one machine talk, and what was measured of it.
struct MeasuredTransport {
  std::string option, name, colour, paler;
  std::vector<LinkTime> messages{}, rings{};
  LinkFit fit{};
};

std::vector<LinkTime> measured(const std::string& transport, int ranks,
                               const std::vector<std::int64_t>& sizes, std::int64_t calls,
                               Runner& runner) {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  std::string list;
  for (const std::int64_t bytes : sizes) list += text(list.empty() ? "" : ",", bytes);
  const Json json = runner.run_for_json(
      launched(ranks, {(here / "bench-link-rank").string(), "--transport", transport, "--sizes",
                       list, "--calls", std::to_string(calls)}));
  std::vector<LinkTime> times;
  for (const Json& call : json.at("calls")) {
    times.push_back({call.at("bytes"), median(call.at("seconds").get<std::vector<double>>())});
  }
  return times;
}

std::string shown_size(std::int64_t bytes) {
  if (bytes >= 1 << 20) return text(bytes >> 20, " MiB");
  return bytes >= 1024 ? text(bytes >> 10, " KiB") : text(bytes, " B");
}

void print_messages(const MeasuredTransport& transport) {
  std::cout << "\n"
            << transport.name << ", one message, microseconds\n"
            << "      size   measured   α + D/β   model/measured\n";
  for (const LinkTime& time : transport.messages) {
    const double model = transport.fit.seconds(static_cast<double>(time.bytes));
    std::cout << std::setw(10) << shown_size(time.bytes) << std::setw(11)
              << fixed(1e6 * time.seconds, 1) << std::setw(10) << fixed(1e6 * model, 1)
              << std::setw(12) << fixed(model / time.seconds, 2) << "\n";
  }
  std::cout << "  α = " << fixed(1e6 * transport.fit.alpha_s, 1)
            << " µs, β = " << fixed(transport.fit.beta_bytes_s / 1e9, 2) << " GB/s\n";
}

void print_rings(const MeasuredTransport& transport, int ranks) {
  std::cout << "\n"
            << transport.name << ", ring all-reduce on " << ranks << " ranks, microseconds\n"
            << "      size   measured   2(N-1)(α + D/(Nβ))   measured/model\n";
  for (const LinkTime& time : transport.rings) {
    const double model = ring_seconds(transport.fit, ranks, static_cast<double>(time.bytes));
    std::cout << std::setw(10) << shown_size(time.bytes) << std::setw(11)
              << fixed(1e6 * time.seconds, 1) << std::setw(21) << fixed(1e6 * model, 1)
              << std::setw(17) << fixed(time.seconds / model, 2) << "\n";
  }
}

std::vector<std::pair<double, double>> values_of(const std::vector<LinkTime>& times) {
  std::vector<std::pair<double, double>> values;
  for (const LinkTime& time : times) {
    values.emplace_back(static_cast<double>(time.bytes), time.seconds);
  }
  return values;
}

// Published times of an all-reduce in one node of eight GPUs: measured seconds, and for the class
// of the H100 the seconds that a published share of its bandwidth comes to.
std::vector<Series> published() {
  std::ifstream rows(LOCKSTEP_MEASURED);
  const auto all = apps::read_measured(rows, LOCKSTEP_MEASURED);
  const std::vector<sim::Cluster> clusters = sim::built_in_clusters();
  Series a100{"8 A100, all-reduce [VTRAIN]", "#888888", Series::Drawn::points, {}};
  Series h100{"8 H100-class GPUs [SIMAI]", "#2a7f3f", Series::Drawn::points, {}};
  for (const apps::Measured& row : all) {
    if (row.ranks != 8 || row.nodes != 1) continue;
    const auto compared = apps::compare(row, clusters);
    if (!compared) continue;
    if (row.gpu == "A100" && row.collective == "all_reduce") {
      a100.values.emplace_back(static_cast<double>(row.bytes), compared->measured_s);
    } else if (row.gpu == "H-class" && row.collective == "all_reduce(NIC)") {
      h100.values.emplace_back(static_cast<double>(row.bytes), compared->measured_s);
    }
  }
  std::ranges::sort(a100.values);
  std::ranges::sort(h100.values);
  return {a100, h100};
}

std::string plot_of(const std::vector<MeasuredTransport>& transports, int ranks) {
  std::vector<Series> all;
  for (const MeasuredTransport& transport : transports) {
    Series line{text(transport.name, ": α + D/β"), transport.colour, Series::Drawn::line, {}};
    Series ring{text("ring of ", ranks, ": predicted"), transport.paler, Series::Drawn::line, {}};
    for (double bytes = 4; bytes < 2e7; bytes *= 2) {
      line.values.emplace_back(bytes, transport.fit.seconds(bytes));
      ring.values.emplace_back(bytes, ring_seconds(transport.fit, ranks, bytes));
    }
    all.push_back({text(transport.name, ": a message"), transport.colour, Series::Drawn::points,
                   values_of(transport.messages)});
    all.push_back(line);
    all.push_back({text("ring of ", ranks, ": measured"), transport.paler, Series::Drawn::points,
                   values_of(transport.rings)});
    all.push_back(ring);
  }
  for (Series& series : published()) all.push_back(std::move(series));
  return log_plot("One message and an all-reduce: seconds over bytes, this machine and GPUs", all);
}

Json rows_of(const std::vector<LinkTime>& times, const std::string& what, const LinkFit& fit,
             int ranks) {
  Json rows = Json::array();
  for (const LinkTime& time : times) {
    const auto bytes = static_cast<double>(time.bytes);
    const double model = ranks == 0 ? fit.seconds(bytes) : ring_seconds(fit, ranks, bytes);
    rows.push_back({{"case", text(what, ", ", shown_size(time.bytes))},
                    {"bytes", time.bytes},
                    {"measured_s", time.seconds},
                    {"model_s", model}});
  }
  return rows;
}

int run(int argc, const char* const* argv) {
  Options options("lab bench links",
                  "Measures α and β between processes on this machine, predicts a ring all-reduce "
                  "from them, and measures the ring as well.");
  options.option("ranks", "4", "ranks in the ring")
      .option("calls", "40", "calls of each size; the median is used")
      .option("plot", "", "plot the measurements beside published GPU times, in this SVG file")
      .flag("json", "print one JSON document instead of the tables");
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  const int ranks = ranks_of(arguments.get("ranks"), 3);
  const std::int64_t calls = arguments.integer("calls", 1);
  const bool as_json = arguments.flag("json");
  if (arguments.given("plot")) check_destination("--plot", arguments.get("plot"));
  std::vector<MeasuredTransport> transports{{"shm", "shared memory", "#b8442a", "#e0a060"}};
  if (comm::has_tcp_groups()) transports.push_back({"gloo", "TCP", "#2a5db8", "#6fb7d6"});

  Runner runner;
  const Machine machine = this_machine();
  StepCounter progress(2 * transports.size());
  for (MeasuredTransport& transport : transports) {
    progress.begin(text("messages through ", transport.name));
    transport.messages = measured(transport.option, 2, message_bytes, calls, runner);
    transport.fit = fit_link(transport.messages);
    progress.begin(text("rings of ", ranks, " through ", transport.name));
    transport.rings = measured(transport.option, ranks, ring_bytes, calls, runner);
  }
  progress.clear();

  if (as_json) {
    Json document{{"bench", "links"}, {"ranks", ranks}, {"transports", Json::array()}};
    for (const MeasuredTransport& each : transports) {
      document["transports"].push_back(
          {{"transport", each.name},
           {"alpha_s", each.fit.alpha_s},
           {"beta_bytes_s", each.fit.beta_bytes_s},
           {"worst", each.fit.worst},
           {"messages", rows_of(each.messages, "message", each.fit, 0)},
           {"rings", rows_of(each.rings, "ring", each.fit, ranks)}});
    }
    document["machine"] = {
        {"processor", machine.processor}, {"cores", machine.cores}, {"load", machine.load}};
    std::cout << document.dump(1) << "\n";
  } else {
    std::cout << "machine  " << machine.processor << ", " << counted(machine.cores, "core")
              << ", load " << fixed(machine.load, 1) << "\n";
    for (const MeasuredTransport& transport : transports) {
      print_messages(transport);
      print_rings(transport, ranks);
    }
    if (ranks > machine.cores) {
      std::cout << "\nThe ring's " << ranks << " ranks share " << counted(machine.cores, "core")
                << ", but the model gives each rank its own core and each pair its own link.\n";
    }
  }
  if (arguments.given("plot")) {
    const std::string& file = arguments.get("plot");
    std::ofstream out(file);
    out << plot_of(transports, ranks);
    if (!out.flush()) throw UsageError(text("--plot: cannot write ", file));
    if (!as_json) std::cout << "\nplot     " << file << "\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab bench links", [&] { return run(argc, argv); });
}
