// Who computes which part of causal attention when ranks share a sequence in a ring:
//   build/release/bin/rings work             the busiest rank's pairs of a query and a key over the
//                                            mean's, contiguous and zigzag
//   build/release/bin/rings plan SPLIT RANKS by chunk, for a figure: QUERIES KEYS RANK STEP
// SPLIT is contiguous or zigzag.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"

using namespace lockstep;

namespace {

std::vector<Positions> split(const std::string& how, int ranks, std::int64_t tokens) {
  std::vector<Positions> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(how == "zigzag" ? sequence_parallel::zigzag(tokens, ranks, rank)
                                  : sequence_parallel::contiguous(tokens, ranks, rank));
  }
  return all;
}

double busiest_over_mean(const std::vector<Positions>& of_ranks) {
  double most = 0, all = 0;
  for (const Positions& queries : of_ranks) {
    double own = 0;
    for (const Positions& keys : of_ranks) own += static_cast<double>(pairs_seen(queries, keys));
    most = std::max(most, own);
    all += own;
  }
  return most * static_cast<double>(of_ranks.size()) / all;
}

void work() {
  std::cout << "ranks  contiguous  zigzag\n" << std::fixed << std::setprecision(3);
  for (const int ranks : {2, 4, 8}) {
    std::cout << std::setw(5) << ranks << std::setw(12)
              << busiest_over_mean(split("contiguous", ranks, 1 << 16)) << std::setw(8)
              << busiest_over_mean(split("zigzag", ranks, 1 << 16)) << "\n";
  }
}

// Which rank computes a chunk of queries with a chunk of keys, and in which step. A chunk is one
// token here, and there are two on each rank.
void plan(const std::string& how, int ranks) {
  std::vector<int> owner(2 * static_cast<std::size_t>(ranks));
  int rank = 0;
  for (const Positions& own : split(how, ranks, 2 * ranks)) {
    for (std::int64_t i = 0; i < own.count(); ++i) {
      owner[static_cast<std::size_t>(own.of(i))] = rank;
    }
    ++rank;
  }
  for (std::size_t query = 0; query < owner.size(); ++query) {
    for (std::size_t key = 0; key <= query; ++key) {
      std::cout << query << " " << key << " " << owner[query] << " "
                << (owner[query] - owner[key] + ranks) % ranks << "\n";
    }
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    const std::string which = count > 1 ? words[1] : "";
    if (which == "work" && count == 2) {
      work();
    } else if (which == "plan" && count == 4) {
      plan(words[2], std::stoi(words[3]));
    } else {
      throw UsageError("usage: rings work | plan contiguous|zigzag RANKS");
    }
  } catch (const std::exception& error) {
    std::cerr << "rings: " << error.what() << "\n";
    return 2;
  }
}
