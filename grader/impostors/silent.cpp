#include "grader/impostors/impostor.hpp"

namespace lockstep::grader {

Bytes impostors_result(std::span<const std::byte>, Dice&) { return {}; }

}  // namespace lockstep::grader
