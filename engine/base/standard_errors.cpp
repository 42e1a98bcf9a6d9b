#include "engine/base/standard_errors.hpp"

#include <cxxabi.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <ios>
#include <memory>
#include <new>
#include <system_error>
#include <typeinfo>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string type_of(const std::exception& error) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? plain.get() : typeid(error).name();
}

bool is_full(const std::error_code& code) {
  return code == std::errc::no_space_on_device || code.value() == EDQUOT;
}

const char* advice_for(const std::error_code& code) {
  if (is_full(code)) return "free some space there, or name a folder on another disk";
  if (code == std::errc::permission_denied || code == std::errc::operation_not_permitted) {
    return "you have no right to do that there: look with ls -ld, or name another place";
  }
  if (code == std::errc::read_only_file_system) return "nothing can be written there: name another";
  if (code == std::errc::no_such_file_or_directory) return "make it, or name one that is there";
  return "name another place";
}

}  // namespace

std::string told_of_file(const std::exception& error) {
  const auto* const failed = dynamic_cast<const fs::filesystem_error*>(&error);
  if (failed == nullptr || failed->path1().empty()) return error.what();
  const std::string to =
      failed->path2().empty() ? "" : text(" to '", failed->path2().string(), "'");
  return text("'", failed->path1().string(), "'", to, ": ", failed->code().message(), "; ",
              advice_for(failed->code()));
}

int in_our_words(const std::function<int()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    throw Lacking(
        "there is not enough memory for this; pass a smaller model, batch or file, start fewer "
        "ranks, or end other programs (free -h shows what is left)");
  } catch (const fs::filesystem_error& error) {
    if (is_full(error.code())) throw Lacking(told_of_file(error));
    throw Error(told_of_file(error));
  } catch (const std::ios_base::failure& error) {
    throw Error(text("a file could not be read or written to its end (", error.what(),
                     "); is the disk full?"));
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw Error(error.what());
    throw Lacking(
        "the system starts no more threads or processes; start fewer ranks or --workers, or raise "
        "the limit (ulimit -u)");
  } catch (const std::length_error& error) {
    throw Error(text("something would be longer than any memory (", error.what(),
                     "); pass smaller numbers"));
  } catch (const std::runtime_error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(text("the program made a mistake of its own (", type_of(error), ": ", error.what(),
                     "); it is not your input: please report what you typed"));
  }
}

}  // namespace lockstep
