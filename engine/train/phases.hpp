// The phases of a rank's step, as reported to whatever draws them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace lockstep::collectives {
class CommHook;
}

namespace lockstep::train {

// weight_gradient: of a pass that comes in two, the half that no other stage waits for; the half
// that one does is `backward`.
enum class Phase : std::uint8_t { other, data, forward, backward, weight_gradient, optimizer };

inline std::string_view name_of(Phase phase) {
  constexpr std::string_view names[]{"other",           "data",     "forward", "backward",
                                     "weight gradient", "optimizer"};
  return names[static_cast<std::size_t>(phase)];
}

class PhaseWatch {
 public:
  virtual ~PhaseWatch() = default;
  // The rank does this from now on. Thread: that of the training.
  virtual void enter(Phase phase) = 0;
};

// Is told the hook of a strategy and returns the one that is started instead, which starts the
// first: to see when buckets travel.
using WatchHook = std::function<collectives::CommHook&(collectives::CommHook&)>;

}  // namespace lockstep::train
