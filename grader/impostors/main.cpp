// The main program of the impostors. Under another name, such as that of a link to it, the random
// one draws other numbers.
#include <string_view>

#include "engine/sim/hosts/player.hpp"
#include "grader/impostors/impostor.hpp"

int main(int, char** argv) {
  using namespace lockstep;
  const std::string_view name(argv[0]);
  const std::uint64_t salt = checksum_of(std::as_bytes(std::span(name)));
  return sim::serve_cases([salt](sim::PlayerCase& played) {
    const auto input = played.input.rest();
    grader::Dice dice(input, salt + static_cast<std::uint64_t>(played.rank));
    return grader::impostors_result(input, dice);
  });
}
