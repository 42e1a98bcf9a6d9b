#include "grader/batch/processes/secret.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.hpp"
#include "grader/batch/processes/digest.hpp"
#include "grader/batch/processes/journal.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t length_min = 16;

}  // namespace

std::string read_secret(const std::filesystem::path& file) {
  struct stat about;
  if (::stat(file.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) {
    throw UsageError(
        text("there is no seed file ", file.string(),
             "; without --seed-file, a new seed is drawn and kept in the output folder"));
  }
  if (about.st_uid != ::geteuid() || (about.st_mode & 077) != 0) {
    throw UsageError(text("the seed in ", file.string(),
                          " is not secret: others can read it. Run chmod 600 ", file.string()));
  }
  std::string secret = read_text(file);
  if (secret.size() < length_min) {
    throw UsageError(text("the seed in ", file.string(), " has ", secret.size(),
                          " bytes and could be guessed; write at least ", length_min,
                          ", such as: openssl rand -hex 32 > ", file.string()));
  }
  return secret;
}

std::string kept_secret(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) write_whole(file, random_secret());
  return read_secret(file);
}

}  // namespace lockstep::grader
