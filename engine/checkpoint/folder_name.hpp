// The names of checkpoints' folders. Private to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::checkpoint {

std::string folder_name(std::int64_t step);  // "step_000500"
// The step of a name that folder_name could have given.
std::optional<std::int64_t> step_of(const std::string& name);

}  // namespace lockstep::checkpoint
