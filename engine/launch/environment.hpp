// Reads what a launched program learns from its environment, strictly. Three kinds of launcher are
// understood, and looked for in this order:
//   torchrun's variables  RANK, WORLD_SIZE, … as ./lab run, torchrun or a person sets them
//   Open MPI's mpirun     OMPI_COMM_WORLD_RANK, …          (schedulers.hpp)
//   Slurm's srun          SLURM_PROCID in a job step, …    (schedulers.hpp)
// The engine's only getenv lives here; everything else takes an Environment as a value.
//
// How the store is found. ./lab run hosts it and says where in LOCKSTEP_STORE. Nobody else does, so
// there rank 0 hosts it: at MASTER_ADDR:MASTER_PORT, or one port further where torchrun's agent
// serves PyTorch's own store at that port (TORCHELASTIC_USE_AGENT_STORE is True), which speaks
// another protocol.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/comm/endpoint.hpp"

namespace lockstep::launch {

enum class StoreHost : std::uint8_t { launcher, rank_zero };

struct Environment {
  int rank = 0;              // RANK, in [0, world_size)
  int world_size = 1;        // WORLD_SIZE
  int local_rank = 0;        // LOCAL_RANK, in [0, local_world_size)
  int local_world_size = 1;  // LOCAL_WORLD_SIZE
  std::string master_addr;   // MASTER_ADDR, the host of rank 0
  int master_port = 0;       // MASTER_PORT, for rank 0 to listen at if the program wants that
  int restart_count = 0;     // TORCHELASTIC_RESTART_COUNT; absent counts as 0
  int max_restarts = 0;      // TORCHELASTIC_MAX_RESTARTS, likewise
  std::string run_id;        // TORCHELASTIC_RUN_ID; empty where it is absent, or "none"
  StoreHost store_host = StoreHost::rank_zero;
  comm::Endpoint store;      // LOCKSTEP_STORE, or where rank 0 hosts it
  std::string local_addr;    // LOCKSTEP_ADDR, this node as its peers reach it; empty: not told
  std::optional<int> round;  // LOCKSTEP_ROUND, where launchers come and go
  std::string spare_file;    // LOCKSTEP_SPARE, for World::be_spare; empty: nobody reads it
};

// The value of a variable, or nothing when it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;
Lookup process_environment();

// True if a launcher of a kind that read_environment understands started this program.
bool is_launched(const Lookup& lookup);

// True if the variables say that this is the only rank, and no launcher of ours has set them: a
// batch system's shell, a container or a profile has. Whoever asks for more ranks here starts them
// here.
//   Throws  as read_environment
bool is_alone(const Lookup& lookup);

// The variables by which a launcher is recognised, and those it sets beside them, with their
// values: "RANK=0 and WORLD_SIZE=2 are set here".
std::string told_of_variables(const Lookup& lookup);
// The end of a complaint: that these variables may be left over, and what to type to be rid of
// them. Empty where ./lab run has set them.
std::string told_of_leftovers(const Lookup& lookup);

// Throws UsageError naming the variable that is missing or malformed, the value seen, and what to
// type.
Environment read_environment(const Lookup& lookup);

}  // namespace lockstep::launch
