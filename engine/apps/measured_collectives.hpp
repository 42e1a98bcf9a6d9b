// Published measurements of collectives, and what the modelled clusters say of the same: the ground
// on which the constants of engine/sim/clusters/ stand, and the judge of them (docs/measured.md).
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "engine/sim/model/cluster.hpp"
#include "engine/sim/model/price.hpp"

namespace lockstep::apps {

// A row of tests/bench/measured_collectives.csv, whose columns are
// source,collective,gpu,n_gpus,nodes,bytes,time_us,busbw_GBps,notes.
struct Measured {
  std::string source;
  std::string collective;  // as the source calls it, with the algorithm that it forced
  std::string gpu;
  int ranks = 0, nodes = 0;
  std::int64_t bytes = 0;  // of the whole buffer, as nccl-tests counts [NCCLTESTS]
  double time_us = 0;      // 0: the source gives a bandwidth
  double bandwidth = 0;    // "bus bandwidth" in GB/s, or a fraction of the peak
};

//   name    of the file, for errors
//   Throws  UsageError that names file and line
std::vector<Measured> read_measured(std::istream& rows, const std::string& name);

struct Compared {
  double measured_s, modelled_s;
  sim::Price price;
  std::string cluster;
  double error() const { return modelled_s / measured_s - 1; }
};
// nullopt: the row does not say enough, or of hardware that no cluster describes.
std::optional<Compared> compare(const Measured& row, const std::vector<sim::Cluster>& clusters);

// Median and worst of some rows' relative errors.
struct Errors {
  std::size_t rows = 0;
  double median = 0;  // of the errors without their sign
  double worst = 0;   // with its sign
  Measured worst_row;
};
struct SourceErrors {
  std::string source, cluster;
  Errors large, small;  // from 8 MiB on, and below
  std::size_t not_compared = 0;
};
// By source and cluster, in the order of the file.
std::vector<SourceErrors> errors_of(const std::vector<Measured>& rows,
                                    const std::vector<sim::Cluster>& clusters);

}  // namespace lockstep::apps
