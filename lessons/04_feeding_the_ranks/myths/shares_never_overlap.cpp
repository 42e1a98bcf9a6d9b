// When the ranks do not divide the dataset, padding reads some samples a second time.
#include <set>

#include "engine/data/distributed_sampler.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

int main() {
  myth::claim("The ranks' shares never overlap.");
  bool some_each_time = true;
  for (const auto& [samples, ranks] : {std::pair{10, 4}, {20'000, 3}, {50'000, 64}}) {
    std::set<std::int64_t> different;
    std::size_t all = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto mine =
          data::distributed_indices({.length = samples, .rank = rank, .ranks = ranks});
      different.insert(mine.begin(), mine.end());
      all += mine.size();
    }
    std::cout << samples << " samples on " << ranks << " ranks: " << all << " are read, "
              << all - different.size() << " of them a second time\n";
    some_each_time = some_each_time && all > different.size();
  }
  return myth::refuted_if(some_each_time,
                          "If the number of ranks does not divide that of the samples, the "
                          "sampler repeats some of them.");
}
