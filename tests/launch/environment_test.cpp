// The environment is read strictly: each mistake is one sentence that names the variable.
#include "engine/launch/environment.hpp"

#include <map>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/launch/lookup.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using lockstep::test::contains;
using lockstep::test::lookup_in;
using lockstep::test::Variables;

namespace {

const Variables good{{"RANK", "2"},
                     {"WORLD_SIZE", "4"},
                     {"LOCAL_RANK", "0"},
                     {"LOCAL_WORLD_SIZE", "2"},
                     {"MASTER_ADDR", "10.0.0.1"},
                     {"MASTER_PORT", "29500"}};

Lookup good_but(const std::string& name, const std::string& value) {
  Variables variables = good;
  variables[name] = value;
  return lookup_in(variables);
}

}  // namespace

TEST_CASE("environment: torchrun's variables are read") {
  const Environment found = read_environment(good_but("TORCHELASTIC_RESTART_COUNT", "3"));
  CHECK(found.rank == 2);
  CHECK(found.world_size == 4);
  CHECK(found.local_rank == 0);
  CHECK(found.local_world_size == 2);
  CHECK(found.master_addr == "10.0.0.1");
  CHECK(found.master_port == 29500);
  CHECK(found.restart_count == 3);
  CHECK(read_environment(lookup_in(good)).restart_count == 0);
  CHECK(read_environment(good_but("TORCHELASTIC_RUN_ID", "night")).run_id == "night");
  CHECK(read_environment(good_but("TORCHELASTIC_RUN_ID", "none")).run_id.empty());
}

TEST_CASE("environment: a missing variable is named, with what to type") {
  for (const auto& [name, value] : good) {
    Variables variables = good;
    variables.erase(name);
    CHECK_THROWS_WITH(read_environment(lookup_in(variables)),
                      contains(name + " is not set") && contains("./lab run --ranks 2 -- "));
    CHECK_THROWS_AS(read_environment(lookup_in(variables)), UsageError);
  }
}

TEST_CASE("environment: a malformed variable is named with the value seen") {
  CHECK_THROWS_WITH(read_environment(good_but("RANK", "two")), contains("RANK is \"two\""));
  CHECK_THROWS_WITH(read_environment(good_but("RANK", "2 ")), contains("RANK is \"2 \""));
  CHECK_THROWS_WITH(read_environment(good_but("RANK", "4")),
                    contains("RANK is 4") && contains("from 0 to 3"));
  CHECK_THROWS_WITH(read_environment(good_but("RANK", "-1")), contains("RANK is -1"));
  CHECK_THROWS_WITH(read_environment(good_but("RANK", "99999999999")),
                    contains("not a whole number"));
  CHECK_THROWS_WITH(read_environment(good_but("WORLD_SIZE", "0")),
                    contains("WORLD_SIZE is 0") && contains("at least 1"));
  CHECK_THROWS_WITH(read_environment(good_but("LOCAL_RANK", "2")), contains("LOCAL_RANK is 2"));
  CHECK_THROWS_WITH(read_environment(good_but("LOCAL_WORLD_SIZE", "5")),
                    contains("LOCAL_WORLD_SIZE is 5"));
  CHECK_THROWS_WITH(read_environment(good_but("MASTER_PORT", "65536")), contains("65535"));
  CHECK_THROWS_WITH(read_environment(good_but("MASTER_ADDR", "")),
                    contains("MASTER_ADDR is set but empty"));
  CHECK_THROWS_WITH(read_environment(good_but("TORCHELASTIC_RESTART_COUNT", "x")),
                    contains("TORCHELASTIC_RESTART_COUNT"));
}

TEST_CASE("environment: a program that no launcher started can tell") {
  CHECK_FALSE(is_launched(lookup_in({{"MASTER_ADDR", "127.0.0.1"}})));
  CHECK(is_launched(lookup_in({{"RANK", "0"}})));
  CHECK(is_launched(lookup_in({{"WORLD_SIZE", "1"}})));
}

TEST_CASE("environment: what a launcher may have left is told, with what gets rid of it") {
  CHECK(told_of_variables(lookup_in({{"RANK", "0"}})) == "RANK=0 is set here");
  CHECK(told_of_variables(lookup_in({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"SLURM_PROCID", "1"}})) ==
        "RANK=0, WORLD_SIZE=2 and SLURM_PROCID=1 are set here");
  CHECK_THAT(told_of_leftovers(lookup_in(good)),
             contains("env -u RANK -u WORLD_SIZE -u LOCAL_RANK -u LOCAL_WORLD_SIZE -u MASTER_ADDR "
                      "-u MASTER_PORT in front of"));
  CHECK(told_of_leftovers(good_but("LOCKSTEP_STORE", "127.0.0.1:1")) == "");
  CHECK_THROWS_WITH(read_environment(lookup_in({{"RANK", "0"}})),
                    contains("WORLD_SIZE is not set") && contains("env -u RANK in front of"));
}

TEST_CASE("environment: a rank alone is one that no launcher of ours has started") {
  Variables one = good;
  one["RANK"] = one["LOCAL_RANK"] = "0";
  one["WORLD_SIZE"] = one["LOCAL_WORLD_SIZE"] = "1";
  CHECK(is_alone(lookup_in(one)));
  CHECK_FALSE(is_alone(lookup_in(good)));
  one["LOCKSTEP_STORE"] = "127.0.0.1:1";
  CHECK_FALSE(is_alone(lookup_in(one)));
}
