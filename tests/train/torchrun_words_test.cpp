// Command lines that users of torchrun type are read as ours, or answered with ours.
#include "engine/apps/torchrun_words.hpp"
#include "engine/apps/run_command_line.hpp"
#include "engine/apps/train_command_line.hpp"
#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using Words = std::vector<std::string>;
using lockstep::test::contains;

namespace {

Words ours(const Words& typed) { return apps::in_our_words(typed, apps::run_options()); }

}  // namespace

TEST_CASE("torchrun's words: options of one meaning are ours, with dashes or underscores") {
  const Words two{"--ranks=2", "--", "smoke"};
  CHECK(ours({"--nproc_per_node", "2", "--", "smoke"}) == two);
  CHECK(ours({"--nproc-per-node=2", "--", "smoke"}) == two);
  CHECK(ours({"--standalone", "--nproc_per_node=2", "--", "smoke"}) == two);
  CHECK(ours({"--rdzv_backend", "c10d", "--nproc_per_node", "2", "--no_python", "--", "smoke"}) ==
        two);
  CHECK(ours({"--nnodes", "2", "--node_rank", "1", "--rdzv_endpoint", "a:1", "--max_restarts=3",
              "--log_dir", "logs", "--rdzv_id", "7", "--master_port", "1234"}) ==
        Words{"--nnodes", "2", "--node-rank=1", "--rdzv-endpoint=a:1", "--max-restarts=3",
              "--log-dir=logs", "--rdzv-id=7", "--master-port=1234"});
}

TEST_CASE(
    "torchrun's words: what belongs to the program, and what is ours, stays as it was typed") {
  for (const Words& typed :
       {Words{"--ranks", "2", "--prefix", "none", "--", "smoke", "--nproc_per_node", "3", "-m",
              "x"},
        Words{"--grace", "1", "smoke", "--role", "x"}, Words{"--help"}, Words{"-h"}, Words{"-"},
        Words{"--log-dir", "a_b", "--", "-t"}, Words{}, Words{"--", "--tee"}}) {
    const Words read = ours(typed);
    if (!typed.empty() && typed[0] == "--ranks") {
      CHECK(read[0] == "--ranks=2");
      CHECK(Words(read.begin() + 1, read.end()) == Words(typed.begin() + 2, typed.end()));
    } else {
      CHECK(read == typed);
    }
  }
  const Words train{"--no-overlap", "--lr", "-1", "--data", "a_b", "--clip=1"};
  CHECK(apps::in_our_words(train, apps::train_options()) == train);
  CHECK(apps::in_our_words({"--batch_size", "8", "--nproc_per_node", "2"}, apps::train_options()) ==
        Words{"--batch-size=8", "--ranks=2"});
}

TEST_CASE("torchrun's words: what has no counterpart is answered with what to type") {
  const auto refused = [](const Words& typed, const std::string& answer) {
    CAPTURE(answer);
    CHECK_THROWS_AS(ours(typed), UsageError);
    CHECK_THROWS_WITH(ours(typed),
                      contains(answer) && contains(typed[0].substr(0, typed[0].find('='))));
  };
  for (const std::string count : {"auto", "gpu", "cpu"}) {
    refused({"--ranks", count}, "pass --ranks ");
    refused({"--nproc_per_node=" + count}, "nproc says so");
  }
  refused({"--master_addr", "10.0.0.1"}, "pass --rdzv-endpoint HOST:PORT");
  refused({"--rdzv-backend", "etcd"}, "leave it out and pass --rdzv-endpoint");
  refused({"--rdzv_conf", "timeout=3"}, "--rdzv-timeout SECONDS");
  refused({"--tee", "3"}, "pass --log-dir DIR");
  refused({"-r", "3"}, "pass --log-dir DIR");
  refused({"-m", "pkg.train"}, "-- python3 -m MODULE");
  refused({"--local-ranks-filter=0"}, "--prefix none");
  refused({"--role", "trainer"}, "leave it out");
  refused({"--monitor_interval=5"}, "leave it out");
}
