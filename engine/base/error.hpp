// The four kinds of failure (docs/design.md): a broken contract, a world that failed, an expected
// absence (std::optional, no type here), and a stub that is not written yet.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "engine/base/text.hpp"

namespace lockstep {

// Root of everything the engine throws. what() is one complete sentence for a person.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A caller broke a contract. Carries file:line of the check.
struct ContractError : Error {
  using Error::Error;
};

// The user gave an impossible option, name or file. Programs exit with code 2.
struct UsageError : Error {
  using Error::Error;
};

// A peer, link or deadline failed. The group that threw it is poisoned afterwards.
struct CommError : Error {
  using Error::Error;
};

// Memory for a tensor that the host does not have.
struct OutOfMemory : Error {
  using Error::Error;
};

// A student's part that has not been written yet. The only thing a stub may do.
struct NotImplemented : Error {
  explicit NotImplemented(const std::string& part)
      : Error(part + " is not written yet: open work/ and fill in the marked region") {}
};

[[noreturn]] void contract_failed(const char* condition, const char* file, int line,
                                  const std::string& message);

}  // namespace lockstep

// LOCKSTEP_CHECK(count >= 0, "narrow: count ", count, " is negative; pass a length in elements")
// References are compiled with LOCKSTEP_QUIET_CHECKS: a failed check of theirs names its line and
// does not quote it, since programs that contain references are handed to students (./lab pack
// student).
#ifdef LOCKSTEP_QUIET_CHECKS
#define LOCKSTEP_CHECK(condition, ...) LOCKSTEP_CHECK_NAMED("its contract", condition, __VA_ARGS__)
#else
#define LOCKSTEP_CHECK(condition, ...) LOCKSTEP_CHECK_NAMED(#condition, condition, __VA_ARGS__)
#endif
#define LOCKSTEP_CHECK_NAMED(name, condition, ...)                                          \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      ::lockstep::contract_failed(name, __FILE__, __LINE__, ::lockstep::text(__VA_ARGS__)); \
    }                                                                                       \
  } while (false)
