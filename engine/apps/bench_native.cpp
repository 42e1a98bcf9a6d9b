// bench native: published measurements of collectives beside what the built-in clusters say.
//   ./lab bench native --rows
#include <fstream>
#include <iomanip>
#include <iostream>

#include "engine/apps/measured_collectives.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/options.hpp"
#include "engine/base/units.hpp"

namespace {

using namespace lockstep;
using apps::Errors;
using apps::Measured;

std::string percent(double share) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << share * 100 << " %";
  return out.str();
}

std::string with_sign(double share) { return (share < 0 ? "" : "+") + percent(share); }

std::string size_of(std::int64_t bytes) {
  constexpr std::int64_t kib = 1024, mib = kib * kib;
  if (bytes >= mib) return text(bytes / mib, " MiB");
  return bytes >= kib ? text(bytes / kib, " KiB") : text(bytes, " B");
}

std::string place_of(const Measured& row) {
  return text(row.collective, ", ", row.ranks, " ", row.gpu, " on ", row.nodes,
              row.nodes == 1 ? " node, " : " nodes, ", size_of(row.bytes));
}

void print_errors(const char* which, const Errors& errors) {
  if (errors.rows == 0) return;
  std::cout << "  " << which << std::setw(4) << errors.rows << " rows, median error "
            << std::setw(6) << percent(errors.median) << ", worst " << with_sign(errors.worst)
            << " (" << place_of(errors.worst_row) << ")\n";
}

void print_rows(const std::vector<Measured>& rows, const std::vector<sim::Cluster>& clusters) {
  for (const Measured& row : rows) {
    const auto compared = apps::compare(row, clusters);
    if (!compared) continue;
    std::cout << row.source << ": " << place_of(row) << ": measured " << compared->measured_s * 1e6
              << " µs, modelled " << compared->modelled_s * 1e6 << " µs ("
              << name_of(compared->price.algorithm) << ", " << name_of(compared->price.protocol)
              << "): " << with_sign(compared->error()) << "\n";
  }
}

int run(int argc, const char* const* argv) {
  Options options("lab bench native",
                  "Compares published measurements of collectives with the built-in clusters.");
  options
      .option("measured", "tests/bench/measured_collectives.csv", "the file with the measurements")
      .flag("rows", "print every row, not only the errors of each source");
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  const std::string name = arguments.get("measured");
  std::ifstream file(name);
  if (!file) throw UsageError(text("there is no file ", name));
  const auto rows = apps::read_measured(file, name);
  const auto clusters = sim::built_in_clusters();
  if (arguments.flag("rows")) print_rows(rows, clusters);
  for (const auto& source : apps::errors_of(rows, clusters)) {
    std::cout << source.source << (source.cluster.empty() ? "" : ", as " + source.cluster) << "\n";
    print_errors("from 8 MiB ", source.large);
    print_errors("below      ", source.small);
    if (source.not_compared > 0) {
      std::cout << "  " << counted(source.not_compared, "row")
                << (source.not_compared == 1 ? " is" : " are")
                << " not compared (docs/measured.md)\n";
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab bench native", [&] { return run(argc, argv); });
}
