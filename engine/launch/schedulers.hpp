// The variables of launchers that are not torchrun's kin: Open MPI's mpirun and Slurm's srun. They
// number the processes and say which are on one host, but agree on no port; so MASTER_PORT is taken
// if it is set, and otherwise computed from the job's name, alike in every rank: one of 12,000
// ports below those that Linux gives out by itself. Two jobs on one host may meet on one port; rank
// 0 then says so, and MASTER_PORT helps.
//
//   Source  mpirun(1), "Environment variables", Open MPI 4.1; srun(1), "OUTPUT ENVIRONMENT
//           VARIABLES", and scontrol(1), "show hostnames", Slurm 23
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/launch/environment.hpp"
#include "engine/launch/launcher.hpp"

namespace lockstep::launch {

bool is_mpirun(const Lookup& lookup);  // OMPI_COMM_WORLD_RANK is set
bool is_srun(
    const Lookup& lookup);  // SLURM_PROCID and SLURM_STEP_ID are: a job step, no batch script

// MASTER_ADDR is needed only when the ranks are on several hosts. Throws UsageError.
Environment read_mpirun(const Lookup& lookup);
// MASTER_ADDR is the first host of the step's list unless it is set. Throws UsageError.
Environment read_srun(const Lookup& lookup);

// When mpirun or srun started several launchers, each is a node of one run: its number, theirs, and
// where they meet. Nothing when they did not, or started one only. Throws UsageError.
std::optional<NodeOptions> nodes_of_job(const Lookup& lookup);

// "2(x3),1" → {2, 2, 2, 1}, and "node[01-03,7],gpu2" → {node01, node02, node03, node7, gpu2}.
// Throw UsageError for other text; `whose` is the variable it came from.
std::vector<int> tasks_per_node_in(const std::string& list, const std::string& whose);
std::vector<std::string> hosts_in(const std::string& list, const std::string& whose);

// From 20,000 to 31,999, the same for the same job.
int port_of_job(const std::string& job);

}  // namespace lockstep::launch
