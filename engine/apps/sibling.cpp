#include "engine/apps/sibling.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/apps/gpu_ranks.hpp"
#include "engine/base/error.hpp"
#include "engine/train/chosen_ways.hpp"

namespace lockstep::apps {

Trainer trainer_in_place_of_this(const Arguments& arguments) {
  const auto ways = train::ways_of(arguments, train::declared_ways());
  const bool has_ways = std::ranges::all_of(
      ways, [](const train::Way* way) { return train::find_maker(way->stem) != nullptr; });
  const bool has_nccl = connects_gpus() || !arguments.has("--backend nccl");
  return has_ways && has_nccl ? Trainer{} : trainer_for(arguments);
}

void become_trainer(const Arguments& arguments, const char* const* argv) {
  const Trainer needed = trainer_in_place_of_this(arguments);
  if (needed.what.empty()) return;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path other = self.parent_path() / needed.program;
  std::error_code missing;
  const auto of_other = std::filesystem::last_write_time(other, missing);
  const char* state = missing                                             ? "is not built yet"
                      : of_other < std::filesystem::last_write_time(self) ? "is out of date"
                                                                          : nullptr;
  if (state != nullptr) {
    throw UsageError(text("the trainer with ", needed.what, " is built when it is first used, and ",
                          other.string(), " ", state,
                          "; start the run by ./lab train or ./lab run, which builds it"));
  }
  ::execv(other.c_str(), const_cast<char* const*>(argv));
  throw Error(text("cannot start ", other.string(), ": ", std::strerror(errno)));
}

}  // namespace lockstep::apps
