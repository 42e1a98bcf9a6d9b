// What a launched program learns from its environment: torchrun's variables, read strictly.
// The engine's only getenv lives here; everything else takes an Environment as a value.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace lockstep::launch {

struct Environment {
  int rank = 0;              // RANK, in [0, world_size)
  int world_size = 1;        // WORLD_SIZE
  int local_rank = 0;        // LOCAL_RANK, in [0, local_world_size)
  int local_world_size = 1;  // LOCAL_WORLD_SIZE
  std::string master_addr;   // MASTER_ADDR, where the store listens
  int master_port = 0;       // MASTER_PORT
  int restart_count = 0;     // TORCHELASTIC_RESTART_COUNT; absent counts as 0
};

// The value of a variable, or nothing when it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;
Lookup process_environment();

// Whether a launcher started this program: RANK or WORLD_SIZE is set.
bool is_launched(const Lookup& lookup);

// Throws UsageError naming the variable that is missing or malformed, the value seen, and what to
// type.
Environment read_environment(const Lookup& lookup);

}  // namespace lockstep::launch
