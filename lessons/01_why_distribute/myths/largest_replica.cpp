// The largest model whose state fits into 80 GB, by bytes per parameter, without activations.
#include <array>
#include <cstdio>

int main() {
  std::puts("\"Plain data parallelism reaches 7 to 10 billion parameters.\"");
  struct Recipe {
    const char* words;
    int bytes;
  };
  constexpr std::array<Recipe, 4> recipes{{{"Adam, float32", 16},
                                           {"Adam, mixed precision", 16},
                                           {"Adam, bfloat16, float32 moments", 12},
                                           {"Adam, bfloat16 throughout", 8}}};
  for (const Recipe& recipe : recipes) {
    for (const int devices : std::array{1, 8}) {
      // A replica is whole, so the number of devices does not occur.
      std::printf("%-32s %2d bytes, %d GPU%s of 80 GB: %4.1f billion\n", recipe.words, recipe.bytes,
                  devices, devices == 1 ? " " : "s", 80e9 / recipe.bytes / 1e9);
    }
  }
}
