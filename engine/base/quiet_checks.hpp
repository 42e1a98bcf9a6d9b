// References are compiled with this included first: a failed check of theirs names its line and
// does not quote it, since programs that contain references are handed to students (./lab pack
// student).
#pragma once

#include "engine/base/error.hpp"

#undef LOCKSTEP_CHECK
#define LOCKSTEP_CHECK(condition, ...)                                \
  do {                                                                \
    if (!(condition)) {                                               \
      ::lockstep::contract_failed("its contract", __FILE__, __LINE__, \
                                  ::lockstep::text(__VA_ARGS__));     \
    }                                                                 \
  } while (false)
