// NCCL on paper, between processes: ranks that meet, the values of all calls, and what ranks do
// wrong. Each planted fault is found in its words; its twin without the fault has no finding.
#include <string>

#include "tests/catch.hpp"
#include "tests/paper/run_program.hpp"

using lockstep::test::contains;
using lockstep::test::exit_code_of_findings;
using lockstep::test::Ran;
using lockstep::test::run_program;

namespace {

Ran run_ranks(const std::string& program, const std::string& words, std::uint64_t seed = 1) {
  return run_program(program, words, seed, "PAPER_DEVICES=8 PAPER_DEADLINE=2");
}

void is_fine(const Ran& ran) {
  INFO(ran.said);
  CHECK(ran.exit_code == 0);
  CHECK(ran.said == "");
}

void is_found(const Ran& ran, const std::string& sentence) {
  INFO(ran.said);
  CHECK(ran.exit_code == exit_code_of_findings);
  CHECK_THAT(ran.said, contains(sentence));
  CHECK_THAT(ran.said, !contains("does not hold"));
}

}  // namespace

TEST_CASE("paper: ranks of NCCL meet, split and leave") {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::string name : {"facts", "splits"}) {
      INFO(name << " on " << ranks);
      is_fine(run_ranks("meeting", name + " " + std::to_string(ranks)));
    }
  }
  is_fine(run_ranks("meeting", "one_process 1"));
}

TEST_CASE("paper: ranks of NCCL that do not meet are named") {
  struct Fault {
    const char* words;
    const char* sentence;
  };
  const Fault faults[] = {
      {"never_comes 3", "after 2.0 s, rank 1 of 3 had not come"},
      {"dies_before 4", "after 2.0 s, rank 1 of 4 had not come"},
      {"twice 2", "rank 0 is there twice"},
      {"one_gpu 2", "ranks 0 and 1 both use device 0"},
      {"other_size 2", "another said"},
      {"destroyed_before 1", "ncclCommCount: the communicator has been destroyed"},
      {"no_id 1", "nobody is at the id"},
  };
  for (const Fault& fault : faults) {
    INFO(fault.words);
    is_found(run_ranks("meeting", fault.words), fault.sentence);
  }
}
