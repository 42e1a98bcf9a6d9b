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

// `deadline_s` is how long a rank waits for the others: long, unless that is what is looked for.
Ran run_ranks(const std::string& program, const std::string& words, std::uint64_t seed = 1,
              int deadline_s = 30) {
  return run_program(program, words, seed,
                     "PAPER_DEVICES=8 PAPER_DEADLINE=" + std::to_string(deadline_s));
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
    int deadline_s = 30;
  };
  const Fault faults[] = {
      {"never_comes 3", "after 3.0 s, rank 1 of 3 had not come", 3},
      {"dies_before 4", "after 3.0 s, rank 1 of 4 had not come", 3},
      {"twice 2", "rank 0 is there twice"},
      {"one_gpu 2", "ranks 0 and 1 both use device 0"},
      {"other_size 2", "another said"},
      {"destroyed_before 1", "ncclCommCount: the communicator has been destroyed"},
      {"no_id 1", "nobody is at the id"},
  };
  for (const Fault& fault : faults) {
    INFO(fault.words);
    is_found(run_ranks("meeting", fault.words, 1, fault.deadline_s), fault.sentence);
  }
}

TEST_CASE("paper: ranks of NCCL are waited for, however long the deadline") {
  for (const std::string deadline : {"1e18", "inf"}) {
    is_fine(run_program("meeting", "facts 3", 1, "PAPER_DEVICES=8 PAPER_DEADLINE=" + deadline));
  }
}

TEST_CASE("paper: NCCL's calls have the right values on all types and operators") {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::string name : {"types", "factors", "group_of_all"}) {
      INFO(name << " on " << ranks);
      is_fine(run_ranks("collectives", name + " " + std::to_string(ranks)));
    }
  }
}

TEST_CASE("paper: collectives go on as on a GPU, whatever the hosts wait for") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const std::string name :
         {"streams 3", "two_communicators 4", "host_elsewhere 3", "many_streams 3"}) {
      INFO(name << ", seed " << seed);
      is_fine(run_ranks("collectives", name, seed));
    }
  }
}

TEST_CASE("paper: ranks of NCCL that disagree, or wait for ever, are named") {
  struct Fault {
    std::string words, sentence;
    int deadline_s = 30;
  };
  const Fault faults[] = {
      {"other_count 2",
       "call 4: rank 0 calls ncclAllReduce of 960 elements of float32, sum, rank 1 of 959"},
      {"other_type 2",
       "call 4: rank 0 calls ncclAllReduce of 100 elements of float32, sum, rank 1 "
       "of 100 elements of float16"},
      {"other_op 3", "sum, rank 2 with max"},
      {"other_root 2",
       "call 4: rank 0 calls ncclBroadcast of 100 elements of float32, root 0, rank 1 with root 1"},
      {"other_order 2",
       "call 4: rank 0 calls ncclAllReduce of 100 elements of float32, sum, rank "
       "1 calls ncclBroadcast of 100 elements of float32, root 0"},
      {"both_send 2", "rank 0 sends to rank 1 and rank 1 sends to rank 0, neither receives"},
      {"both_receive 2",
       "rank 0 receives from rank 1 and rank 1 receives from rank 0, neither sends"},
      {"ring 3",
       "rank 0 sends to rank 1, rank 1 sends to rank 2 and rank 2 sends to rank 0, none "
       "receives"},
      {"to_itself 1", "rank 0 sends to rank 0"},
      {"other_message 2",
       "message 1 from rank 0 to rank 1: ncclSend of 8 elements of float32, "
       "ncclRecv of 9 elements of float32"},
      {"send_meets_sum 2", "rank 0 is in ncclAllReduce (call 4) and rank 1 sends to rank 0"},
      {"ended_early 2",
       "rank 0 is in ncclAllReduce (call 4), but rank 1 has ended its "
       "communicator after 3 collective calls"},
      {"late 2",
       "rank 0 is in ncclAllReduce (call 4) and has waited 2.0 s: rank 1 has not called "
       "it (3 calls so far)",
       2},
      {"crossed 2", "has called it, but its stream has not come to it", 2},
      {"killed 3", "rank 1 (process ", 1},
      {"no_event 2", "race between streams"},
      {"unwritten 2", "uninitialised: ncclAllReduce reads byte 0"},
      {"too_small 2", "out of bounds: ncclAllGather: a write of 8000 bytes"},
      {"of_the_host 1", "ncclAllReduce: sendbuff is memory of the host"},
      {"overlap 1", "ncclAllReduce: sendbuff and recvbuff overlap"},
      {"no_such_root 1", "ncclBroadcast: the root is 1, but the communicator has 1 ranks"},
      {"leaked 2", "leak: a communicator was never destroyed"},
  };
  for (const Fault& fault : faults) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      INFO(fault.words << ", seed " << seed);
      const Ran ran = run_ranks("disagreements", fault.words, seed, fault.deadline_s);
      INFO(ran.said);
      CHECK((ran.exit_code == exit_code_of_findings || ran.exit_code == 128 + 9));
      CHECK_THAT(ran.said, contains(fault.sentence));
      is_fine(run_ranks("disagreements", fault.words + " clean", seed));
    }
  }
}

TEST_CASE("paper: the others of a rank that dies or aborts know at once, and can go on") {
  for (const std::string words :
       {"survive 3", "survive 5", "aborted 3", "struck 2", "struck 4", "watchdog 3"}) {
    INFO(words);
    const Ran ran = run_ranks("disagreements", words);
    INFO(ran.said);
    CHECK((ran.exit_code == 0 || ran.exit_code == 128 + 9));
    CHECK_THAT(ran.said, contains("rank 1 (process"));
    CHECK_THAT(ran.said, !contains("paper:"));
    CHECK_THAT(ran.said, !contains("does not hold"));
  }
}

TEST_CASE(
    "paper: a setting lets an operation of NCCL fail, with an asynchronous error everywhere") {
  const Ran ran = run_program("disagreements", "injected 3", 1,
                              "PAPER_DEVICES=8 PAPER_DEADLINE=30 PAPER_FAIL_COLLECTIVE=5");
  INFO(ran.said);
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.said, contains("ncclAllReduce fails, as the setting fail_collective asks"));
  CHECK_THAT(ran.said, !contains("paper:"));
}
