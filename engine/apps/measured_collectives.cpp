#include "engine/apps/measured_collectives.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"

namespace lockstep::apps {

namespace {

using sim::Algorithm;
using sim::Cluster;
using sim::Collective;

constexpr std::int64_t large_bytes = std::int64_t{8} << 20;

// The fields of a line; those with commas stand in double quotes.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char letter : line) {
    if (letter == '"') {
      quoted = !quoted;
    } else if (letter == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += letter;
    }
  }
  return fields;
}

double number_of(const std::string& field, const std::string& where) {
  if (field.empty()) return 0;
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(field, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != field.size() || !(value >= 0)) {
    throw UsageError(text(where, ": '", field, "' is not a number"));
  }
  return value;
}

bool holds(const std::string& whole, const char* part) {
  return whole.find(part) != std::string::npos;
}

const Cluster* cluster_for(const Measured& row, const std::vector<Cluster>& clusters) {
  std::string name;
  if (holds(row.source, "Summit")) {
    name = "summit";
  } else if (row.gpu == "V100" && row.ranks < 8) {
    return nullptr;  // which of the node's GPUs take part decides which links there are
  } else if (row.gpu == "A100" || row.gpu == "V100" || row.gpu == "B200") {
    name = row.gpu == "A100" ? "a100" : row.gpu == "V100" ? "v100" : "b200";
  } else if (row.gpu == "H100" || row.gpu == "H200" || row.gpu == "H-class") {
    name = "h100";  // what they have in common: NVLink and its switches, the cards
  }
  const auto found = std::find_if(clusters.begin(), clusters.end(),
                                  [&](const Cluster& c) { return c.name == name; });
  return found == clusters.end() ? nullptr : &*found;
}

std::optional<Collective> collective_of(const std::string& name) {
  if (name.starts_with("all_reduce")) return Collective::all_reduce;
  if (name == "all_to_all") return Collective::all_to_all;
  if (name == "all_gather") return Collective::all_gather;
  if (name == "reduce_scatter") return Collective::reduce_scatter;
  return std::nullopt;
}

// The algorithm that the source forced; otherwise the cluster's library chooses. The figures of
// [SIMAI] on one node are those of a ring: [BEK] measured as much with the switch's addition off.
std::optional<Algorithm> forced(const Measured& row) {
  if (holds(row.collective, "ring") || holds(row.collective, "(NIC)")) return Algorithm::ring;
  if (holds(row.collective, "tree")) return Algorithm::tree;
  return std::nullopt;
}

// The bytes on the wire for each byte of the buffer, for each rank [NCCLTESTS].
double bus_factor(Collective collective, double n) {
  return (collective == Collective::all_reduce ? 2 : 1) * (n - 1) / n;
}

// The bus bandwidth in bytes a second of which [SIMAI] gives fractions: of a port within a node; of
// all cards of a node for rings; for all_to_all what the cards allow, which carry what leaves the
// node.
double peak_bytes_s(const Measured& row, Collective collective, const sim::Network& network) {
  if (row.nodes == 1) return network.bandwidth_bytes_s;
  const double card = network.between.bandwidth_bytes_s;
  const double per_node = static_cast<double>(row.ranks) / row.nodes;
  return collective == Collective::all_to_all ? card * (row.ranks - 1) / (row.ranks - per_node)
                                              : card * per_node;
}

double measured_s(const Measured& row, Collective collective, const sim::Network& network) {
  if (row.time_us > 0) return row.time_us * 1e-6;
  const double bytes_s = holds(row.source, "ratio")
                             ? row.bandwidth * peak_bytes_s(row, collective, network)
                             : row.bandwidth * 1e9;
  return bus_factor(collective, row.ranks) * static_cast<double>(row.bytes) / bytes_s;
}

void add(Errors& errors, std::vector<double>& sizes, const Measured& row, double error) {
  ++errors.rows;
  if (std::abs(error) >= std::abs(errors.worst)) {
    errors.worst = error;
    errors.worst_row = row;
  }
  sizes.push_back(std::abs(error));
  std::sort(sizes.begin(), sizes.end());
  const std::size_t half = sizes.size() / 2;
  errors.median = sizes.size() % 2 == 1 ? sizes[half] : (sizes[half - 1] + sizes[half]) / 2;
}

}  // namespace

std::vector<Measured> read_measured(std::istream& file, const std::string& name) {
  std::string line;
  if (!std::getline(file, line)) throw UsageError(text("there is nothing to read in ", name));
  std::vector<Measured> rows;
  for (int number = 2; std::getline(file, line); ++number) {
    const std::string where = text(name, ":", number);
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() < 8) {
      throw UsageError(
          text(where, ": a row has 9 fields, from source to notes; this one has ", fields.size()));
    }
    Measured row{fields[0], fields[1], fields[2]};
    row.ranks = static_cast<int>(number_of(fields[3], where));
    row.nodes = static_cast<int>(number_of(fields[4], where));
    row.bytes = static_cast<std::int64_t>(number_of(fields[5], where));
    row.time_us = number_of(fields[6], where);
    row.bandwidth = number_of(fields[7], where);
    if (row.nodes < 1 || row.ranks < row.nodes || row.time_us + row.bandwidth <= 0) {
      throw UsageError(text(where, ": ", row.ranks, " ranks on ", row.nodes,
                            " nodes do not fit, or there is neither a time nor a bandwidth"));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<Compared> compare(const Measured& row, const std::vector<Cluster>& clusters) {
  const Cluster* cluster = cluster_for(row, clusters);
  const auto collective = collective_of(row.collective);
  if (cluster == nullptr || !collective) return std::nullopt;
  sim::Network network = cluster->network;
  if (const auto algorithm = forced(row)) {
    network.library->within.algorithms = network.library->between.algorithms = {*algorithm};
  }
  // The buffer of an all_gather is what all bring together.
  const std::int64_t brings =
      *collective == Collective::all_gather ? row.bytes / row.ranks : row.bytes;
  const sim::Price price = sim::library_price(*collective, {row.ranks, row.nodes}, brings, network);
  return Compared{measured_s(row, *collective, network), price.seconds, price, cluster->name};
}

std::vector<SourceErrors> errors_of(const std::vector<Measured>& rows,
                                    const std::vector<Cluster>& clusters) {
  struct Sizes {
    std::vector<double> large, small;
  };
  std::vector<SourceErrors> all;
  std::vector<Sizes> sizes;
  for (const Measured& row : rows) {
    const auto compared = compare(row, clusters);
    const std::string cluster = compared ? compared->cluster : "";
    auto found = std::find_if(all.begin(), all.end(), [&](const SourceErrors& one) {
      return one.source == row.source && one.cluster == cluster;
    });
    if (found == all.end()) {
      all.push_back({row.source, cluster, {}, {}, 0});
      sizes.emplace_back();
      found = all.end() - 1;
    }
    Sizes& own = sizes[static_cast<std::size_t>(found - all.begin())];
    if (!compared) {
      ++found->not_compared;
    } else if (row.bytes >= large_bytes) {
      add(found->large, own.large, row, compared->error());
    } else {
      add(found->small, own.small, row, compared->error());
    }
  }
  return all;
}

}  // namespace lockstep::apps
