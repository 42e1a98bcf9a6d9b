// How a call of a part ended, for exams in which a part has to refuse something, or to say that the
// world failed it: by an exception of the type that its contract names.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <typeinfo>

#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"
#include "engine/base/is_any.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/play/thrown_at.hpp"

namespace lockstep::grader {

// Begins the sentence of an adapter about a tensor that a part has left behind.
inline constexpr const char* wrong_size_left = "a tensor of a wrong size was left: ";

struct Ending {
  enum class Kind : std::uint8_t { returned, threw_expected, threw_other };
  Kind kind = Kind::returned;
  std::string type;  // of what was thrown: "ContractError", "std::length_error"
  std::string what;
  std::vector<std::uint64_t> thrown_at{};  // the calls that led to the throw (thrown_at.hpp)
};

template <typename Archive>
void fields(Archive& archive, Ending& ending) {
  archive(ending.kind, ending.type, ending.what, ending.thrown_at);
}
inline void check_fields(Ending& ending) {
  if (ending.kind > Ending::Kind::threw_other) {
    throw MalformedMessage("malformed message: an ending of no known kind");
  }
  ending.type = sim::printable(ending.type, 200);
  ending.what = sim::printable(ending.what, 400);
  if (ending.thrown_at.size() > calls_of_a_throw_max) ending.thrown_at.clear();
}

// "std::length_error"; what is in namespace lockstep goes without it.
inline std::string type_of(const std::exception& error) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), &std::free);
  std::string type = status == 0 ? name.get() : "an exception";
  constexpr std::string_view own = "lockstep::";
  return type.starts_with(own) ? type.substr(own.size()) : type;
}

// Calls; what leaves the call as Expected, or as a type derived from it, is what was asked for.
// A stub's NotImplemented goes on its way, and so does a lack of memory.
template <typename Expected>
Ending ending_of(const auto& call) {
  try {
    call();
    return {};
  } catch (const std::exception& error) {
    if (is_any<NotImplemented, std::bad_alloc, OutOfMemory>(error)) throw;
    Ending ending{
        is_any<Expected>(error) ? Ending::Kind::threw_expected : Ending::Kind::threw_other,
        type_of(error), error.what()};
    if (thrown_at != nullptr) ending.thrown_at = thrown_at(error);
    return ending;
  } catch (...) {
    return {Ending::Kind::threw_other, "something that is not a std::exception", {}};
  }
}

}  // namespace lockstep::grader
