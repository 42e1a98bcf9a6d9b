#include "engine/apps/sim_command_line.hpp"

#include "engine/sim/model/cluster.hpp"

namespace lockstep::apps {

Options sim_options() {
  Options options("lab sim", "Runs an algorithm on simulated ranks and prints its costs.");
  options.option("ranks", "8", "number of ranks; each is a fiber in this process")
      .option("count", "1024",
              "elements per rank; per block, if each rank has a block for every rank")
      .option("dtype", "float32", "element type")
      .option("cluster", "", "a .toml file, or a built-in cluster:\n" + sim::list_of_clusters(2))
      .option("seed", "0", "seed for the order in which ranks run")
      .list("fault",
            "kill:RANK@TIME, kill:RANK@step:K (its K-th call), link:A-B:slow:FACTOR or "
            "link:A-B:cut; can be repeated")
      .list("slow", "RANK:FACTOR slows this rank's computation by FACTOR; can be repeated")
      .option("jitter", "0", "lengthen each latency by a random fraction, up to this value")
      .option("trace", "", "write the timeline: FILE.html for a browser, FILE.json for Perfetto")
      .choice("traffic", {"none", "ranks", "nodes"}, "none",
              "also print the traffic between each pair; stores 56 bytes per message")
      .flag("sizes-only", "send only sizes, no values, for thousands of ranks")
      .flag("prove", "with --sizes-only: prove which ranks contributed to each element of a sum")
      .flag("json", "print one JSON document instead of text")
      .choice("with", {"work"}, "",
              "use your own PROGRAM as it is, and your other parts if they pass")
      .words(
          "PROGRAM",
          "a part from lesson 03 or 06; all_reduce and native_… are the library's own, priced as "
          "one operation; star_… are naive versions\n"
          "train ARGS stands for ./lab train --backend sim ARGS");
  return options;
}

}  // namespace lockstep::apps
