// The variables of mpirun and srun, as they set them, and what is wrong with others.
#include "engine/launch/schedulers.hpp"

#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/launch/lookup.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using lockstep::test::contains;
using lockstep::test::lookup_in;
using lockstep::test::Variables;

namespace {

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

const Variables mpirun{{"OMPI_COMM_WORLD_RANK", "3"},
                       {"OMPI_COMM_WORLD_SIZE", "4"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                       {"PMIX_NAMESPACE", "978780161"}};

// Rank 5 of 7, on the third of four nodes.
const Variables srun{{"SLURM_PROCID", "5"},
                     {"SLURM_STEP_NUM_TASKS", "7"},
                     {"SLURM_NTASKS", "99"},
                     {"SLURM_LOCALID", "1"},
                     {"SLURM_NODEID", "2"},
                     {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                     {"SLURM_STEP_NODELIST", "node[01-03],gpu2"},
                     {"SLURM_JOB_NODELIST", "other[1-9]"},
                     {"SLURM_JOB_ID", "4711"},
                     {"SLURM_STEP_ID", "0"}};

}  // namespace

TEST_CASE("mpirun: its variables are read, rank 0 hosts the store on this host") {
  const Environment found = read_environment(lookup_in(mpirun));
  CHECK(found.rank == 3);
  CHECK(found.world_size == 4);
  CHECK(found.local_rank == 3);
  CHECK(found.local_world_size == 4);
  CHECK(found.restart_count == 0);
  CHECK(found.store_host == StoreHost::rank_zero);
  CHECK(found.store == comm::Endpoint{"127.0.0.1", port_of_job("978780161")});
  CHECK(found.master_addr == "127.0.0.1");
  CHECK(found.master_port == found.store.port);
}

TEST_CASE("mpirun: on several hosts the address of rank 0 must be told") {
  const Variables two_hosts = with(mpirun, "OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  const Variables there = with(two_hosts, "OMPI_COMM_WORLD_LOCAL_RANK", "1");
  CHECK_THROWS_WITH(read_mpirun(lookup_in(there)),
                    contains("MASTER_ADDR is not set") && contains("-x MASTER_ADDR=HOST"));
  const Environment found =
      read_mpirun(lookup_in(with(with(there, "MASTER_ADDR", "node-0"), "MASTER_PORT", "29500")));
  CHECK(found.store == comm::Endpoint{"node-0", 29500});
}

TEST_CASE("mpirun: what is missing or wrong is named, with what to type") {
  for (const auto& [name, value] : mpirun) {
    if (name == "OMPI_COMM_WORLD_RANK") continue;
    CHECK_THROWS_AS(read_environment(lookup_in(without(mpirun, name))), UsageError);
    CHECK_THROWS_WITH(read_environment(lookup_in(without(mpirun, name))),
                      contains(name) && contains("mpirun"));
  }
  CHECK_THROWS_WITH(read_mpirun(lookup_in(with(mpirun, "OMPI_COMM_WORLD_RANK", "4"))),
                    contains("from 0 to 3"));
}

TEST_CASE("srun: its variables are read, the step's before the job's") {
  const Environment found = read_environment(lookup_in(srun));
  CHECK(found.rank == 5);
  CHECK(found.world_size == 7);
  CHECK(found.local_rank == 1);
  CHECK(found.local_world_size == 2);
  CHECK(found.store_host == StoreHost::rank_zero);
  CHECK(found.master_addr == "node01");
  CHECK(found.store == comm::Endpoint{"node01", port_of_job("4711.0")});

  Variables job = without(without(srun, "SLURM_STEP_TASKS_PER_NODE"), "SLURM_STEP_NODELIST");
  job = with(without(job, "SLURM_STEP_NUM_TASKS"), "SLURM_NTASKS", "7");
  const Environment of_job =
      read_environment(lookup_in(with(job, "SLURM_TASKS_PER_NODE", "2(x3),1")));
  CHECK(of_job.world_size == 7);
  CHECK(of_job.master_addr == "other1");
  const Environment told = read_environment(
      lookup_in(with(with(srun, "MASTER_ADDR", "10.0.0.1"), "MASTER_PORT", "29500")));
  CHECK(told.store == comm::Endpoint{"10.0.0.1", 29500});
}

TEST_CASE("srun: what is missing or wrong is named, with what to type") {
  for (const char* name : {"SLURM_LOCALID", "SLURM_NODEID", "SLURM_JOB_ID"}) {
    CHECK_THROWS_WITH(read_environment(lookup_in(without(srun, name))),
                      contains(text(name, " is not set")) && contains("srun -n 2 PROGRAM"));
  }
  CHECK_THROWS_WITH(read_srun(lookup_in(with(srun, "SLURM_STEP_TASKS_PER_NODE", "2(x3)"))),
                    contains("6 tasks, but the step has 7"));
  CHECK_THROWS_WITH(read_srun(lookup_in(with(srun, "SLURM_LOCALID", "2"))),
                    contains("SLURM_LOCALID is 2"));
  CHECK_THROWS_WITH(read_srun(lookup_in(with(srun, "SLURM_NODEID", "4"))),
                    contains("SLURM_NODEID is 4"));
}

TEST_CASE("srun: a batch script that is no step of its own was not launched") {
  CHECK(is_launched(lookup_in(srun)));
  CHECK_FALSE(is_launched(lookup_in(without(srun, "SLURM_STEP_ID"))));
  CHECK_FALSE(is_launched(lookup_in(without(srun, "SLURM_PROCID"))));
}

TEST_CASE("schedulers: a launcher inside a job sets variables that count before the job's") {
  Variables both = mpirun;
  both.insert(srun.begin(), srun.end());
  CHECK(read_environment(lookup_in(both)).rank == 3);
  const Variables ours{{"RANK", "1"},        {"WORLD_SIZE", "2"},
                       {"LOCAL_RANK", "1"},  {"LOCAL_WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "h"}, {"MASTER_PORT", "29500"}};
  both.insert(ours.begin(), ours.end());
  CHECK(read_environment(lookup_in(both)).rank == 1);
}

TEST_CASE("schedulers: launchers that a job started are nodes of one run") {
  const auto nodes = nodes_of_job(lookup_in(srun));
  REQUIRE(nodes);
  CHECK(nodes->count == 7);
  CHECK(nodes->rank == 5);
  CHECK(nodes->endpoint == comm::Endpoint{"node01", port_of_job("4711.0")});
  CHECK_FALSE(nodes_of_job(lookup_in({})));
}

TEST_CASE("schedulers: Slurm's numbers of tasks are read") {
  const auto tasks = [](const std::string& list) { return tasks_per_node_in(list, "LIST"); };
  CHECK(tasks("2(x3),1") == std::vector<int>{2, 2, 2, 1});
  CHECK(tasks("8") == std::vector<int>{8});
  CHECK(tasks("1,2(x1),3") == std::vector<int>{1, 2, 3});
  for (const char* wrong : {"", ",", "2(x3", "2(x)", "2(x0)", "a", "2(3)", "-1", "2,"}) {
    CHECK_THROWS_WITH(tasks(wrong), contains(text("LIST is \"", wrong, "\", which is not a list")));
  }
}

TEST_CASE("schedulers: Slurm's lists of hosts are read, with their leading zeros") {
  using Hosts = std::vector<std::string>;
  const auto hosts = [](const std::string& list) { return hosts_in(list, "LIST"); };
  CHECK(hosts("node[01-03,7],gpu2") == Hosts{"node01", "node02", "node03", "node7", "gpu2"});
  CHECK(hosts("n[098-101]") == Hosts{"n098", "n099", "n100", "n101"});
  CHECK(hosts("a,b-1,c") == Hosts{"a", "b-1", "c"});
  CHECK(hosts("rack[1-2]-x") == Hosts{"rack1-x", "rack2-x"});
  for (const char* wrong : {"", "a,", "n[1-", "n[3-1]", "n[a]", "n[]", "n[1][2]", "n[1-9999999]"}) {
    CHECK_THROWS_WITH(hosts(wrong), contains(text("LIST is \"", wrong, "\", which is not a list")));
  }
}

TEST_CASE("schedulers: a job has one port, other jobs mostly others") {
  std::set<int> ports;
  for (int job = 0; job < 1000; ++job) {
    const int port = port_of_job(text(job));
    CHECK(port >= 20'000);
    CHECK(port < 32'000);
    CHECK(port == port_of_job(text(job)));
    ports.insert(port);
  }
  CHECK(ports.size() > 920);  // 959 are expected of 1,000 random draws out of 12,000
}
