// Actions as words.
#include "engine/parallel/pipeline/action.hpp"

#include "engine/base/text.hpp"

namespace lockstep::pipeline {

std::string text_of(const Action& action, int chunks) {
  constexpr char letters[] = {'F', 'B', 'I', 'W'};
  const std::string said = text(letters[static_cast<std::size_t>(action.pass)], action.micro_batch);
  return chunks > 1 ? text(said, ".", action.chunk) : said;
}

}  // namespace lockstep::pipeline
