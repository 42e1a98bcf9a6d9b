#include "engine/sim/model/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "engine/sim/model/built_in_clusters.hpp"

namespace lockstep::sim {

double DeviceModel::flops_s(DType dtype) const {
  const double peak = peak_flops_s[static_cast<std::size_t>(dtype)];
  return flops_achieved *
         (peak > 0 ? peak : peak_flops_s[static_cast<std::size_t>(DType::float32)]);
}

DeviceModel Cluster::share_of_host(int ranks) const {
  const int per_node = network.ranks_per_node > 0 ? std::min(ranks, network.ranks_per_node) : ranks;
  DeviceModel share;
  share.name = host->name;
  share.peak_flops_s.fill(HUGE_VAL);  // the memory is what an update waits for
  share.memory_bandwidth_bytes_s = host->memory_bandwidth_bytes_s / per_node;
  share.bandwidth_achieved = host->bandwidth_achieved;
  share.memory_bytes = host->memory_bytes / per_node;
  return share;
}

std::vector<Cluster> built_in_clusters() {
  std::vector<Cluster> clusters;
  for (const BuiltInCluster& one : built_in_cluster_files) {
    clusters.push_back(parse_cluster(one.toml, std::string(one.file)));
  }
  return clusters;
}

Cluster cluster_of(const std::string& name_or_file) {
  if (name_or_file.ends_with(".toml")) {
    std::ifstream file(name_or_file);
    if (!file) throw UsageError(text("there is no file ", name_or_file, " to read a cluster from"));
    std::stringstream content;
    content << file.rdbuf();
    return parse_cluster(content.str(), name_or_file);
  }
  std::vector<std::string> names;
  for (Cluster& cluster : built_in_clusters()) {
    if (cluster.name == name_or_file) return std::move(cluster);
    names.push_back(cluster.name);
  }
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  throw UsageError(text("there is no cluster '", name_or_file, "'",
                        did_you_mean(name_or_file, names), " (choose from: ", known,
                        "; your own cluster is a file that ends in .toml)"));
}

std::string list_of_clusters(std::size_t indent) {
  std::string lines;
  for (const Cluster& cluster : built_in_clusters()) {
    lines += text(lines.empty() ? "" : "\n", std::string(indent, ' '), cluster.name,
                  std::string(cluster.name.size() < 10 ? 10 - cluster.name.size() : 1, ' '),
                  cluster.about);
  }
  return lines;
}

}  // namespace lockstep::sim
