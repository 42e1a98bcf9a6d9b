// Gradient accumulation over ten batches with k = 4: the batches of each update, by three tests.
#include <cstdio>

namespace {

template <typename Synchronizes>
void show(const char* words, Synchronizes synchronizes) {
  std::printf("%-30s", words);
  int accumulated = 0;
  for (int i = 0; i < 10; ++i) {
    ++accumulated;
    if (!synchronizes(i)) continue;
    std::printf(" update of %d;", accumulated);
    accumulated = 0;
  }
  std::printf(" %d left over\n", accumulated);
}

}  // namespace

int main() {
  constexpr int k = 4;
  std::puts("\"Skip synchronization while i % k != 0.\"");
  std::puts("ten batches, k = 4");
  show("synchronize at i % k == 0", [](int i) { return i % k == 0; });
  show("synchronize at (i+1) % k == 0", [](int i) { return (i + 1) % k == 0; });
  show("and at the last batch", [](int i) { return (i + 1) % k == 0 || i + 1 == 10; });
}
