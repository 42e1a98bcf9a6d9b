// Who owns what of parameters that lie end to end in one flat tensor, cut into ranges, or of the
// rows of each parameter:
//   build/release/bin/shards flat RANKS SIZE…
//   build/release/bin/shards rows RANKS SIZE…
// A SIZE is a parameter's number of elements; of rows, each element is one row. The parameters are
// called a, b, c, and so on.
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/zero/flat_shards.hpp"

using namespace lockstep;

namespace {

zero::FlatShards plan_of(const std::string& cut, int ranks,
                         const std::vector<std::int64_t>& sizes) {
  if (cut == "flat") return zero::flat_shards(sizes, ranks);
  if (cut != "rows") throw UsageError("a plan is flat or rows, not " + cut);
  std::vector<Shape> shapes;
  for (const std::int64_t size : sizes) shapes.push_back({size});
  return zero::row_shards(shapes, ranks);
}

void tell(const zero::FlatShards& plan) {
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    std::cout << "rank " << rank << ":";
    for (const zero::ShardPiece& piece : plan.ranks[rank]) {
      std::cout << " " << static_cast<char>('a' + piece.parameter) << "[" << piece.begin << ":"
                << piece.end << "]";
    }
    if (plan.ranks[rank].empty()) std::cout << " nothing";
    std::cout << ", padding " << plan.padding(static_cast<int>(rank)) << "\n";
  }
  std::cout << plan.count << " elements travel as " << plan.padded() << "\n";
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 4) throw UsageError("usage: shards flat|rows RANKS SIZE…");
    std::vector<std::int64_t> sizes;
    for (int i = 3; i < count; ++i) sizes.push_back(std::stoll(words[i]));
    tell(plan_of(words[1], std::stoi(words[2]), sizes));
  } catch (const std::exception& error) {
    std::cerr << "shards: " << error.what() << "\n";
    return 2;
  }
}
