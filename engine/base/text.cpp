#include "engine/base/text.hpp"

namespace lockstep {

void Written::write_words(std::ostream& out, const void* words) {
  out << static_cast<const char*>(words);
}

std::string text_of(const Written* first, std::size_t count) {
  std::ostringstream out;
  for (const Written* at = first; at != first + count; ++at) out << *at;
  return out.str();
}

}  // namespace lockstep
