// The reference of a part for tests; beside it are its mutants.
#include "tests/judge/halving/half.hpp"

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

namespace lockstep::halving {

int half(int n) {
  const int result = n / 2;
  return result;
}

}  // namespace lockstep::halving
