#include "engine/launch/worker_variables.hpp"

#include "engine/base/text.hpp"
#include "engine/launch/address.hpp"
#include "engine/launch/guard.hpp"
#include "engine/launch/node_layout.hpp"

namespace lockstep::launch {

namespace {

std::string name_of(const std::string& entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

std::vector<std::string> environment_of(const Plan& plan, int local_rank, const RankFiles& files,
                                        const std::vector<std::string>& inherited) {
  WorkerEnv ours = worker_environment(plan.ranks_per_node, plan.node, local_rank, plan.master);
  // One role, so that a rank has the same number in it as in the world.
  ours["ROLE_NAME"] = "default";
  ours["ROLE_RANK"] = ours["RANK"];
  ours["ROLE_WORLD_SIZE"] = ours["WORLD_SIZE"];
  ours["TORCHELASTIC_RESTART_COUNT"] = text(plan.restarts);
  ours["TORCHELASTIC_MAX_RESTARTS"] = text(plan.max_restarts);
  ours["TORCHELASTIC_RUN_ID"] = plan.run_id;
  ours["TORCHELASTIC_ERROR_FILE"] = files.error;
  ours["LOCKSTEP_SPARE"] = files.spare;
  // No TCPStore of PyTorch's listens at MASTER_PORT: its rank 0 is to host one.
  ours["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  ours["LOCKSTEP_STORE"] = text_of(plan.store);
  ours["LOCKSTEP_ADDR"] = plan.local_addr;
  ours[mark_variable] = plan.mark;
  if (plan.elastic) ours["LOCKSTEP_ROUND"] = text(plan.attempt);
  // A variable that the user sets wins, as under torchrun. N ranks that each start a thread per
  // core would fight for the cores.
  WorkerEnv unless_set{{"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}};
  if (ours["LOCAL_WORLD_SIZE"] != "1") unless_set["OMP_NUM_THREADS"] = "1";

  std::vector<std::string> all;
  for (const std::string& entry : inherited) {
    const bool of_outer_run = name_of(entry) == "LOCKSTEP_ROUND";  // a launcher may run in a rank
    if (of_outer_run || ours.contains(name_of(entry))) continue;
    unless_set.erase(name_of(entry));
    all.push_back(entry);
  }
  ours.merge(unless_set);
  for (const auto& [name, value] : ours) all.push_back(text(name, "=", value));
  return all;
}

}  // namespace lockstep::launch
