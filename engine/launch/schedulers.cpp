// Slurm's lists are short texts with one level of brackets; both are read character by character.
#include "engine/launch/schedulers.hpp"

#include <charconv>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/launch/variables.hpp"

namespace lockstep::launch {

namespace {

constexpr int hosts_max = 100'000;  // a range that is longer is a typing error

Variables mpirun_variables(const Lookup& lookup) {
  return {lookup,
          "start the program with mpirun -n 2 PROGRAM, which sets it" + told_of_leftovers(lookup)};
}

Variables srun_variables(const Lookup& lookup) {
  return {lookup,
          "start the program with srun -n 2 PROGRAM, which sets it" + told_of_leftovers(lookup)};
}

UsageError no_list(const std::string& whose, const std::string& list, const std::string& form) {
  return UsageError(text(whose, " is \"", list, "\", which is not a list such as ", form));
}

// Splits at the commas outside brackets.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::optional<int> digits_in(const std::string& digits) {
  int number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end || number < 0) return std::nullopt;
  return number;
}

std::string padded(int number, std::size_t width) {
  const std::string digits = text(number);
  return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

// "01-03" or "7": the numbers, as wide as the first is written. Nothing when it is neither.
std::optional<std::vector<std::string>> range_in(const std::string& range) {
  const auto dash = range.find('-');
  const std::string first = range.substr(0, dash);
  const std::string last = dash == std::string::npos ? first : range.substr(dash + 1);
  const auto low = digits_in(first), high = digits_in(last);
  if (!low || !high || *high < *low || *high - *low > hosts_max) return std::nullopt;
  std::vector<std::string> numbers;
  for (int number = *low; number <= *high; ++number) {
    numbers.push_back(padded(number, first.size()));
  }
  return numbers;
}

// Sets what both have in common: where rank 0 listens, and that it hosts the store there.
void set_master(Environment& found, const Variables& variables, const std::string& addr,
                const std::string& job) {
  found.master_addr = addr;
  found.master_port = variables.has("MASTER_PORT") ? variables.number_in("MASTER_PORT", 1, 65535)
                                                   : port_of_job(job);
  found.store_host = StoreHost::rank_zero;
  found.store = {found.master_addr, found.master_port};
}

}  // namespace

bool is_mpirun(const Lookup& lookup) { return lookup("OMPI_COMM_WORLD_RANK").has_value(); }

bool is_srun(const Lookup& lookup) {
  return lookup("SLURM_PROCID") && (lookup("SLURM_STEP_ID") || lookup("SLURM_STEPID"));
}

Environment read_mpirun(const Lookup& lookup) {
  const Variables variables = mpirun_variables(lookup);
  Environment found;
  found.world_size = variables.number_in("OMPI_COMM_WORLD_SIZE", 1, int_max);
  found.rank = variables.number_in("OMPI_COMM_WORLD_RANK", 0, found.world_size - 1);
  found.local_world_size = variables.number_in("OMPI_COMM_WORLD_LOCAL_SIZE", 1, found.world_size);
  found.local_rank =
      variables.number_in("OMPI_COMM_WORLD_LOCAL_RANK", 0, found.local_world_size - 1);
  std::string addr = "127.0.0.1";
  if (variables.has("MASTER_ADDR")) {
    addr = variables.text_in("MASTER_ADDR");
  } else if (found.local_world_size != found.world_size) {
    throw UsageError(text("MASTER_ADDR is not set, and mpirun started ", found.world_size,
                          " ranks on several hosts without saying which has rank 0: ",
                          "pass mpirun -x MASTER_ADDR=HOST, the first host of its list"));
  }
  std::string job;
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
    if (job.empty()) job = lookup(name).value_or("");
  }
  if (job.empty() && !variables.has("MASTER_PORT")) {
    throw UsageError(
        "neither MASTER_PORT nor PMIX_NAMESPACE is set, so the ranks cannot agree on "
        "a port: pass mpirun -x MASTER_PORT=29500");
  }
  set_master(found, variables, addr, job);
  return found;
}

Environment read_srun(const Lookup& lookup) {
  const Variables variables = srun_variables(lookup);
  const auto either = [&](const char* of_step, const char* of_job) {
    return std::string(variables.has(of_step) ? of_step : of_job);
  };
  Environment found;
  found.world_size =
      variables.number_in(either("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), 1, int_max);
  found.rank = variables.number_in("SLURM_PROCID", 0, found.world_size - 1);

  const std::string tasks = either("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
  const std::vector<int> per_node = tasks_per_node_in(variables.text_in(tasks), tasks);
  int all = 0;
  for (const int one : per_node) all += one;
  if (all != found.world_size) {
    throw UsageError(text(tasks, " is \"", variables.text_in(tasks), "\", ", all,
                          " tasks, but the step has ", found.world_size, ": ", variables.advice));
  }
  const int node = variables.number_in("SLURM_NODEID", 0, static_cast<int>(per_node.size()) - 1);
  found.local_world_size = per_node[static_cast<std::size_t>(node)];
  found.local_rank = variables.number_in("SLURM_LOCALID", 0, found.local_world_size - 1);

  const std::string nodes = either("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST");
  const std::string addr = variables.has("MASTER_ADDR")
                               ? variables.text_in("MASTER_ADDR")
                               : hosts_in(variables.text_in(nodes), nodes).front();
  const std::string step = either("SLURM_STEP_ID", "SLURM_STEPID");
  set_master(found, variables, addr,
             text(variables.text_in("SLURM_JOB_ID"), ".", variables.text_in(step)));
  return found;
}

std::optional<NodeOptions> nodes_of_job(const Lookup& lookup) {
  if (!is_mpirun(lookup) && !is_srun(lookup)) return std::nullopt;
  const Environment job = is_mpirun(lookup) ? read_mpirun(lookup) : read_srun(lookup);
  if (job.world_size == 1) return std::nullopt;
  NodeOptions nodes;
  nodes.count = job.world_size;
  nodes.rank = job.rank;
  nodes.endpoint = job.store;
  return nodes;
}

std::vector<int> tasks_per_node_in(const std::string& list, const std::string& whose) {
  const auto bad = [&] { return no_list(whose, list, "2(x3),1"); };
  std::vector<int> tasks;
  for (const std::string& part : split(list)) {
    const auto open = part.find("(x");
    const auto count = digits_in(part.substr(0, open));
    std::optional<int> times = 1;
    if (open != std::string::npos) {
      if (part.back() != ')') throw bad();
      times = digits_in(part.substr(open + 2, part.size() - open - 3));
    }
    if (!count || !times || *times < 1 || *times > hosts_max) throw bad();
    tasks.insert(tasks.end(), static_cast<std::size_t>(*times), *count);
  }
  return tasks;
}

std::vector<std::string> hosts_in(const std::string& list, const std::string& whose) {
  const auto bad = [&] { return no_list(whose, list, "node[01-03,7],gpu2"); };
  std::vector<std::string> hosts;
  for (const std::string& part : split(list)) {
    const auto open = part.find('[');
    if (part.empty()) throw bad();
    if (open == std::string::npos) {
      hosts.push_back(part);
      continue;
    }
    const auto close = part.find(']', open);
    if (close == std::string::npos || part.find('[', close) != std::string::npos) throw bad();
    const std::string ranges = part.substr(open + 1, close - open - 1);
    for (const std::string& range : split(ranges)) {
      const auto numbers = range_in(range);
      if (!numbers) throw bad();
      for (const std::string& number : *numbers) {
        hosts.push_back(part.substr(0, open) + number + part.substr(close + 1));
      }
    }
  }
  return hosts;
}

int port_of_job(const std::string& job) {
  constexpr int first = 20'000, count = 12'000;
  // Names of jobs differ in their last digits, which a checksum alone spreads poorly.
  const std::uint64_t spread = random_bits(checksum_of(std::as_bytes(std::span(job))), 0);
  return first + static_cast<int>(spread % count);
}

}  // namespace lockstep::launch
