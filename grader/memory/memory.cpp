#include "grader/memory/memory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

constexpr const char* ending = ".held";
constexpr off_t bytes_max = 1 << 20;

fs::path variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path folder_of_user() {
  if (const fs::path asked = variable("LOCKSTEP_MEMORY"); !asked.empty())
    return fs::absolute(asked);
  if (const fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / "lockstep/held";
  }
  const fs::path home = variable("HOME");
  return home.is_absolute() ? home / ".cache/lockstep/held" : fs::path();
}

// Why what lies there is not believed; "" for what is this user's alone.
std::string distrusted(const fs::path& path, mode_t kind) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0)
    return text("cannot be used (", std::strerror(errno), ")");
  if ((found.st_mode & S_IFMT) != kind)
    return kind == S_IFDIR ? "is no folder" : "is no regular file";
  if (found.st_uid != ::geteuid()) return "belongs to another user";
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "may be written by others";
  return kind == S_IFREG && found.st_size > bytes_max ? "is too large" : "";
}

std::string sealed(const std::string& digest, const std::string& rest) {
  return text("lockstep held 1\n", digest, "\n", hash_of(digest + rest), "\n", rest);
}

}  // namespace

Recall recall_asked_for(std::vector<std::string>& words) {
  const bool asked = std::erase(words, "--afresh") > 0;
  return asked || !variable("LOCKSTEP_AFRESH").empty() ? Recall::afresh : Recall::allowed;
}

Memory::Memory(const Lab& lab, Recall recall, fs::path folder, std::size_t files_max)
    : places_(lab.places),
      recall_(recall),
      folder_(folder.empty() ? folder_of_user() : std::move(folder)),
      files_max_(files_max) {
  std::error_code ignored;  // what follows from it is said
  fs::create_directories(folder_.parent_path(), ignored);
  ::mkdir(folder_.c_str(), S_IRWXU);
  const std::string why =
      folder_.empty() ? "HOME names no folder for it" : distrusted(folder_, S_IFDIR);
  if (why.empty()) return;
  complain(folder_, why);
  folder_.clear();
}

std::optional<std::string> Memory::recall(const std::string& what, const std::string& digest) {
  std::optional<std::string> known;
  if (!folder_.empty()) {
    std::error_code absent;
    if (recall_ == Recall::allowed) known = read(digest);
    if (recall_ == Recall::afresh) fs::remove(folder_ / (digest + ending), absent);
  }
  const fs::path sums = variable("LOCKSTEP_TRIALS");
  if (!sums.empty()) {
    std::ofstream(sums, std::ios::app) << text(known ? "remembered " : "tried ", what, "\n");
  }
  return known;
}

std::optional<std::string> Memory::read(const std::string& digest) {
  const fs::path file = folder_ / (digest + ending);
  std::error_code in_vain;
  if (!fs::exists(fs::symlink_status(file, in_vain))) return std::nullopt;
  const std::string why = distrusted(file, S_IFREG);
  std::ostringstream content;
  if (why.empty()) content << std::ifstream(file, std::ios::binary).rdbuf();
  std::string rest = content.str();
  rest.erase(0, sealed(digest, "").size());
  if (why.empty() && content.str() == sealed(digest, rest)) {
    fs::last_write_time(file, fs::file_time_type::clock::now(), in_vain);  // it is used
    return rest;
  }
  complain(file, why.empty() ? "is damaged" : why);
  return std::nullopt;
}

void Memory::remember(const Trial& trial, const std::string& digest, const std::string& rest) {
  if (folder_.empty() || digest_of(places_, trial) != digest) return;
  std::string unfinished = (folder_ / "XXXXXX").string() + ending;
  const int made = ::mkstemps(unfinished.data(), static_cast<int>(std::strlen(ending)));
  if (made < 0) return complain(folder_, text("takes no file (", std::strerror(errno), ")"));
  ::close(made);
  try {
    write_text(unfinished, sealed(digest, rest));
    fs::rename(unfinished, folder_ / (digest + ending));
    forget_oldest();
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
    complain(folder_, text("takes no file (", error.what(), ")"));
  }
}

void Memory::forget_oldest() const {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code gone;  // others tidy up as well
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const bool ours = entry.path().extension() == ending;
    if (!ours || !fs::is_regular_file(entry.symlink_status(gone))) continue;
    files.emplace_back(entry.last_write_time(gone), entry.path());
  }
  if (files.size() <= files_max_) return;
  std::ranges::sort(files);
  files.resize(files.size() - files_max_ * 3 / 4);
  for (const auto& [time, file] : files) fs::remove(file, gone);
}

void Memory::complain(const fs::path& what, const std::string& why) {
  if (complained_.exchange(true)) return;
  std::cerr << text("lab: memory of earlier runs: ", what.string(), " ", why,
                    "; what it does not tell is proved again\n");
}

}  // namespace lockstep::grader
