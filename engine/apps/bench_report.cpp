#include "engine/apps/bench_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iomanip>
#include <sstream>

#include "engine/base/text.hpp"

namespace lockstep::bench {
namespace {

struct Quantity {
  const char *name, *unit;
  int digits;  // after the point
  double Sample::*value;
};
constexpr std::array<Quantity, 7> quantities{{
    {"speed", "steps/s", 2, &Sample::steps_per_s},
    {"speed by processor time", "steps/cpu-s", 2, &Sample::steps_per_cpu_s},
    {"peak memory", "MiB", 0, &Sample::peak_mib},
    {"start-up", "s", 3, &Sample::startup_s},
    {"communication hidden", "%", 0, &Sample::hidden},
    {"first loss", "", 5, &Sample::first_loss},
    {"loss after a repetition", "", 5, &Sample::last_loss},
}};

std::vector<double> column(const std::vector<Sample>& samples, double Sample::*value) {
  std::vector<double> all;
  for (const Sample& sample : samples) all.push_back(sample.*value);
  return all;
}

std::string number(double value, int digits) {
  if (std::isnan(value)) return "-";
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

}  // namespace

std::string processor_in(std::istream& about) {
  for (std::string line; std::getline(about, line);) {
    if (!line.starts_with("model name")) continue;
    const auto begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (line.find(':') != std::string::npos && begin != std::string::npos) {
      return line.substr(begin);
    }
  }
  return "";
}

Machine this_machine() {
  Machine machine;
  std::ifstream about("/proc/cpuinfo");
  machine.processor = processor_in(about);
  machine.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (getloadavg(&machine.load, 1) != 1) machine.load = std::nan("");
  return machine;
}

std::vector<Row> rows_of(const Rounds& rounds) {
  std::vector<Row> rows;
  for (const Quantity& quantity : quantities) {
    const std::vector<double> ours = column(rounds.ours, quantity.value);
    if (std::isnan(ours.front())) continue;  // one rank has nobody to talk to
    Row row{rounds.model,  rounds.ranks,    quantity.name,
            quantity.unit, quantity.digits, median(ours)};
    if (!rounds.peer.empty()) {
      const std::vector<double> peer = column(rounds.peer, quantity.value);
      std::vector<double> ratios;
      std::ranges::transform(ours, peer, std::back_inserter(ratios), std::divides<>());
      row.peer = median(peer);
      row.ratio_median = median(ratios);
      row.ratio_min = std::ranges::min(ratios);
      row.ratio_max = std::ranges::max(ratios);
    }
    rows.push_back(row);
  }
  return rows;
}

std::string disagreement(const Rounds& rounds) {
  if (rounds.peer.empty()) return "";
  const Sample &ours = rounds.ours.back(), &peer = rounds.peer.back();
  const auto apart = [](double a, double b) { return std::abs(a - b) / std::abs(b); };
  // Rounding differs from the first product on; each later step adds to it. After the hundred steps
  // of one repetition it was 2e-5; gradients that are not averaged make 1e-2 after seven.
  if (apart(ours.first_loss, peer.first_loss) <= 1e-5 &&
      apart(ours.last_loss, peer.last_loss) <= 1e-3) {
    return "";
  }
  return text(rounds.model, ": the sides did not train the same: losses ", ours.first_loss, " … ",
              ours.last_loss, " and ", peer.first_loss, " … ", peer.last_loss,
              "; the ratios mean nothing");
}

std::string table(const std::vector<Rounds>& all, const Machine& machine) {
  std::ostringstream out;
  out << "machine  " << machine.processor << ", " << machine.cores << " cores, load "
      << number(machine.load, 1) << "; one thread a rank, "
      << (machine.pinned_to_core < 0 ? std::string("not pinned")
                                     : text("pinned to core ", machine.pinned_to_core))
      << "\n";
  if (machine.load > 0.5) {
    out << "         others use it too: the speed by processor time is the steadier one\n";
  }
  const Rounds& first = all.front();
  out << "ours     " << first.ours.front().program << ": " << first.ours.front().how << "\n";
  for (const Rounds& rounds : all) {
    if (rounds.peer.empty()) break;
    out << (&rounds == &first ? "peer     " : "         ") << rounds.peer.front().program << ", "
        << rounds.model << ": " << rounds.peer.front().how << "\n";
  }
  const bool compared = !first.peer.empty();
  out << "rounds   " << first.ours.size() << ", each a fresh process of each side\n\n"
      << std::left << std::setw(11) << "model" << std::setw(7) << "ranks" << std::setw(39)
      << "quantity" << std::right << std::setw(10) << "ours";
  if (compared)
    out << std::setw(11) << "peer"
        << "   ours/peer (min … max)";
  out << "\n";
  for (const Rounds& rounds : all) {
    for (const Row& row : rows_of(rounds)) {
      const std::string what = row.unit.empty() ? row.quantity : row.quantity + ", " + row.unit;
      out << std::left << std::setw(11) << row.model << std::setw(7) << row.ranks << std::setw(39)
          << what << std::right << std::setw(10) << number(row.ours, row.digits);
      if (compared) {
        out << std::setw(11) << number(row.peer, row.digits) << std::setw(8)
            << number(row.ratio_median, 3) << " (" << number(row.ratio_min, 3) << " … "
            << number(row.ratio_max, 3) << ")";
      }
      out << "\n";
    }
  }
  return out.str();
}

Json report(const std::vector<Rounds>& all, const Machine& machine) {
  Json rows = Json::array(), groups = Json::array();
  for (const Rounds& rounds : all) {
    if (std::ranges::find(groups, Json(rounds.ranks)) == groups.end())
      groups.push_back(rounds.ranks);
    for (const Row& row : rows_of(rounds)) {
      Json json{
          {"case", row.model + ", " + row.quantity}, {"ranks", row.ranks}, {"ours", row.ours}};
      json["peer"] = rounds.peer.empty() ? Json(nullptr) : Json(row.peer);
      json["unit"] = row.unit;
      if (!rounds.peer.empty()) {
        json["ratio_median"] = row.ratio_median;
        json["ratio_min"] = row.ratio_min;
        json["ratio_max"] = row.ratio_max;
        json["peer_is"] = rounds.peer.front().program + ": " + rounds.peer.front().how;
      }
      rows.push_back(json);
    }
  }
  return Json{{"bench", "train"},
              {"ranks", groups},
              {"rounds", all.front().ours.size()},
              {"ours_is", all.front().ours.front().program + ": " + all.front().ours.front().how},
              {"rows", rows},
              {"machine",
               {{"processor", machine.processor},
                {"cores", machine.cores},
                {"pinned_to_core", machine.pinned_to_core},
                {"load", machine.load}}}};
}

}  // namespace lockstep::bench
