#include "engine/apps/bench_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::bench {
namespace {

struct Quantity {
  const char *name, *unit;
  int digits;  // after the point
  double Sample::*value;
};
constexpr std::array<Quantity, 8> quantities{{
    {"speed", "steps/s", 2, &Sample::steps_per_s},
    {"speed by processor time", "steps/cpu-s", 2, &Sample::steps_per_cpu_s},
    {"peak memory", "MiB", 0, &Sample::peak_mib},
    {"start-up", "s", 3, &Sample::startup_s},
    {"communication hidden", "%", 0, &Sample::hidden},
    {"first loss", "", 5, &Sample::first_loss},
    {"loss after the warm-up", "", 5, &Sample::early_loss},
    {"loss after a repetition", "", 5, &Sample::last_loss},
}};

std::vector<double> column(const std::vector<Sample>& samples, double Sample::*value) {
  std::vector<double> all;
  for (const Sample& sample : samples) all.push_back(sample.*value);
  return all;
}

}  // namespace

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "-";
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return out.str();
}

void Rounds::add(const Rounds& more) {
  ours.insert(ours.end(), more.ours.begin(), more.ours.end());
  peer.insert(peer.end(), more.peer.begin(), more.peer.end());
}

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
  const auto apart = [](double a, double b, double bound) {
    return !(std::abs(a - b) / std::abs(b) <= bound);  // NaN is apart
  };
  for (std::size_t round = 0; round < rounds.ours.size(); ++round) {
    const Sample &ours = rounds.ours[round], &peer = rounds.peer[round];
    // Rounding differs from the first product on, and training amplifies it: between two kernels of
    // the same products the MLP's losses are equal after 5 steps, 4e-6 apart after 20 and 1e-3
    // after 100. Gradients that are not averaged make 1e-2 after 5.
    if (!apart(ours.first_loss, peer.first_loss, 1e-5) &&
        !apart(ours.early_loss, peer.early_loss, 1e-4)) {
      continue;
    }
    const auto losses = [](const Sample& side) {
      return fixed(side.first_loss, 6) + " … " + fixed(side.early_loss, 6);
    };
    return text(rounds.model, ", ", counted(rounds.ranks, "rank"),
                ": the two sides trained differently: in round ", round + 1,
                ", the losses of the first … last warm-up step are ", losses(ours), " for ours, ",
                losses(peer), " for the peer; the ratios compare different work");
  }
  return "";
}

void say(const Missing& missing, const std::string& program) {
  for (const std::string& why : missing.failed) std::cerr << program + ": " + why + "\n";
  if (!missing.interrupted.empty()) std::cerr << program + ": " + missing.interrupted + "\n";
}

std::string note_of(const Missing& missing) {
  std::string note;
  if (!missing.interrupted.empty()) {
    note +=
        text("partial  ", missing.interrupted, "; the results below were measured before that\n");
  }
  for (const std::string& why : missing.failed) note += "missing  " + why + "\n";
  return note;
}

void add_to(Json& document, const Missing& missing) {
  if (!missing.interrupted.empty()) document["partial"] = missing.interrupted;
  if (!missing.failed.empty()) document["failed"] = missing.failed;
}

std::string table(const std::vector<Rounds>& all, const Machine& machine, const Missing& missing) {
  std::ostringstream out;
  out << note_of(missing);
  if (all.empty()) return out.str();
  out << "machine  " << machine.processor << ", " << counted(machine.cores, "core") << ", load "
      << fixed(machine.load, 1) << "; one thread per rank, "
      << (machine.pinned_to_core < 0 ? std::string("not pinned")
                                     : text("pinned to core ", machine.pinned_to_core))
      << "\n";
  if (machine.load > 0.5) {
    out << "         other programs use the core too, so speed by processor time is steadier\n";
  }
  const Rounds& first = all.front();
  out << "ours     " << first.ours.front().program << ": " << first.ours.front().how << "\n";
  for (const Rounds& rounds : all) {
    if (rounds.peer.empty()) break;
    out << (&rounds == &first ? "peer     " : "         ") << rounds.peer.front().program << ", "
        << rounds.model << ": " << rounds.peer.front().how << "\n";
  }
  const bool compared = !first.peer.empty();
  const auto by_rounds = [](const Rounds& a, const Rounds& b) {
    return a.ours.size() < b.ours.size();
  };
  const auto [fewest, most] = std::ranges::minmax_element(all, by_rounds);
  out << "rounds   " << most->ours.size();
  if (fewest->ours.size() < most->ours.size()) {
    out << " (" << fewest->model << ", " << counted(fewest->ranks, "rank") << ": "
        << fewest->ours.size() << ")";
  }
  out << ", each with a new process for each side\n\n"
      << std::left << std::setw(11) << "model" << std::setw(7) << "ranks" << std::setw(39)
      << "quantity" << std::right << std::setw(10) << "ours";
  if (compared)
    out << std::setw(11) << "peer"
        << "   ours/peer (min … max)";
  out << "\n";
  for (const Rounds& rounds : all) {
    const std::string differs = disagreement(rounds);
    for (const Row& row : rows_of(rounds)) {
      const std::string what = row.unit.empty() ? row.quantity : row.quantity + ", " + row.unit;
      out << std::left << std::setw(11) << row.model << std::setw(7) << row.ranks << std::setw(39)
          << what << std::right << std::setw(10) << fixed(row.ours, row.digits);
      if (compared) {
        out << std::setw(11) << fixed(row.peer, row.digits) << std::setw(8)
            << fixed(row.ratio_median, 3) << " (" << fixed(row.ratio_min, 3) << " … "
            << fixed(row.ratio_max, 3) << ")" << (differs.empty() ? "" : " ≠");
      }
      out << "\n";
    }
  }
  for (const Rounds& rounds : all) {
    if (const std::string why = disagreement(rounds); !why.empty()) out << "≠ " << why << "\n";
  }
  return out.str();
}

Json report(const std::vector<Rounds>& all, const Machine& machine, const Missing& missing) {
  Json rows = Json::array(), groups = Json::array();
  for (const Rounds& rounds : all) {
    if (std::ranges::find(groups, Json(rounds.ranks)) == groups.end())
      groups.push_back(rounds.ranks);
    const std::string differs = disagreement(rounds);
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
      if (!differs.empty()) json["disagreement"] = differs;
      rows.push_back(json);
    }
  }
  std::size_t most = 0;
  for (const Rounds& rounds : all) most = std::max(most, rounds.ours.size());
  Json document{{"bench", "train"}, {"ranks", groups}, {"rounds", most}};
  if (!all.empty()) {
    const Sample& ours = all.front().ours.front();
    document["ours_is"] = ours.program + ": " + ours.how;
  }
  document["rows"] = rows;
  document["machine"] = {{"processor", machine.processor},
                         {"cores", machine.cores},
                         {"pinned_to_core", machine.pinned_to_core},
                         {"load", machine.load}};
  add_to(document, missing);
  return document;
}

}  // namespace lockstep::bench
