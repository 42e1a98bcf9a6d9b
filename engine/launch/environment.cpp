// The launcher is recognised by its variables; each has a reader of its own.
#include "engine/launch/environment.hpp"

#include <cstdlib>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/launch/schedulers.hpp"
#include "engine/launch/variables.hpp"

namespace lockstep::launch {

namespace {

bool is_torchrun(const Lookup& lookup) { return lookup("RANK") || lookup("WORLD_SIZE"); }

Environment read_torchrun(const Lookup& lookup) {
  const Variables variables{lookup,
                            "start the program with ./lab run --ranks 2 -- PROGRAM, which sets it" +
                                told_of_leftovers(lookup)};
  Environment found;
  found.world_size = variables.number_in("WORLD_SIZE", 1, int_max);
  found.rank = variables.number_in("RANK", 0, found.world_size - 1);
  found.local_world_size = variables.number_in("LOCAL_WORLD_SIZE", 1, found.world_size);
  found.local_rank = variables.number_in("LOCAL_RANK", 0, found.local_world_size - 1);
  found.master_addr = variables.text_in("MASTER_ADDR");
  found.master_port = variables.number_in("MASTER_PORT", 1, 65535);
  if (variables.has("TORCHELASTIC_RESTART_COUNT")) {
    found.restart_count = variables.number_in("TORCHELASTIC_RESTART_COUNT", 0, int_max);
  }
  if (variables.has("TORCHELASTIC_MAX_RESTARTS")) {
    found.max_restarts = variables.number_in("TORCHELASTIC_MAX_RESTARTS", 0, int_max);
  }
  if (const auto id = lookup("TORCHELASTIC_RUN_ID"); id && *id != "none") found.run_id = *id;
  if (variables.has("LOCKSTEP_ADDR")) found.local_addr = variables.text_in("LOCKSTEP_ADDR");
  found.spare_file = lookup("LOCKSTEP_SPARE").value_or("");
  if (variables.has("LOCKSTEP_ROUND")) {
    found.round = variables.number_in("LOCKSTEP_ROUND", 0, int_max);
  }
  if (variables.has("LOCKSTEP_STORE")) {
    found.store_host = StoreHost::launcher;
    const std::string typed = variables.text_in("LOCKSTEP_STORE");
    const auto store = comm::endpoint_of(typed);
    if (!store || store->host.empty() || store->port == 0) {
      throw UsageError(
          text("LOCKSTEP_STORE is \"", typed, "\", which is not HOST:PORT: ", variables.advice));
    }
    found.store = *store;
    return found;
  }
  found.store = {found.master_addr, found.master_port};
  if (lookup("TORCHELASTIC_USE_AGENT_STORE") == "True") {
    found.store.port = found.master_port == 65535 ? 65534 : found.master_port + 1;
  }
  return found;
}

// The variables of launchers that are set.
std::vector<std::string> set_here(const Lookup& lookup) {
  std::vector<std::string> names;
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                           "MASTER_PORT", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    if (lookup(name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace

bool is_alone(const Lookup& lookup) {
  const Environment found = read_environment(lookup);
  return found.world_size == 1 && found.store_host != StoreHost::launcher;
}

std::string told_of_variables(const Lookup& lookup) {
  const auto names = set_here(lookup);
  std::string told;
  for (std::size_t i = 0; i < names.size(); ++i) {
    told += text(i == 0                  ? ""
                 : i + 1 == names.size() ? " and "
                                         : ", ",
                 names[i], "=", lookup(names[i]).value_or(""));
  }
  return told + (names.size() == 1 ? " is set here" : " are set here");
}

std::string told_of_leftovers(const Lookup& lookup) {
  if (lookup("LOCKSTEP_STORE")) return "";
  std::string without;
  for (const std::string& name : set_here(lookup)) without += " -u " + name;
  return text(". (", told_of_variables(lookup), ", as by a launcher. If none started this ",
              "program, a profile, a container or a batch system has left that: type env", without,
              " in front of the command)");
}

Lookup process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

bool is_launched(const Lookup& lookup) {
  return is_torchrun(lookup) || is_mpirun(lookup) || is_srun(lookup);
}

Environment read_environment(const Lookup& lookup) {
  if (!is_torchrun(lookup)) {
    if (is_mpirun(lookup)) return read_mpirun(lookup);
    if (is_srun(lookup)) return read_srun(lookup);
  }
  return read_torchrun(lookup);
}

}  // namespace lockstep::launch
