// What rank 0 of 2 reads of eight samples in three epochs, with and without shuffling and
// set_epoch.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "engine/base/random.hpp"

namespace {

void show(const char* words, const std::vector<std::int64_t>& order) {
  std::printf("%s", words);
  for (std::size_t place = 0; place < order.size(); place += 2) {
    std::printf(" %d", static_cast<int>(order[place]));
  }
  std::printf("\n");
}

}  // namespace

int main() {
  std::puts("\"Without set_epoch, rank 0 always reads samples 0, 2, 4, ...\"");
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::printf("epoch %d\n", static_cast<int>(epoch));
    show("  not shuffled                 ", {0, 1, 2, 3, 4, 5, 6, 7});
    show("  shuffled, without set_epoch  ", lockstep::random_permutation(8, 0));
    show("  shuffled, with set_epoch     ", lockstep::random_permutation(8, epoch));
  }
}
