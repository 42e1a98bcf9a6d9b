#include "grader/batch/processes/free_space.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <utility>

#include "engine/base/text.hpp"

namespace lockstep::grader {
namespace {

constexpr auto plenty = std::numeric_limits<std::uintmax_t>::max();

struct Free {
  std::uintmax_t bytes = plenty, inodes = plenty;
};

Free free_at(const std::filesystem::path& folder) {
  struct statvfs about;
  if (folder.empty() || ::statvfs(folder.c_str(), &about) != 0) return {};
  Free free;
  free.bytes = static_cast<std::uintmax_t>(about.f_bavail) * about.f_frsize;
  if (about.f_files > 0) free.inodes = about.f_favail;  // some file systems do not count them
  return free;
}

std::uintmax_t memory_left() {
  std::ifstream in("/proc/meminfo");
  std::string name, unit;
  for (std::uintmax_t kilobytes = 0; in >> name >> kilobytes; std::getline(in, unit)) {
    if (name == "MemAvailable:") return kilobytes << 10;
  }
  return plenty;
}

std::string mebibytes(std::uintmax_t bytes) { return text(bytes >> 20, " MiB"); }

}  // namespace

FreeSpace free_space(const std::filesystem::path& scratch, const std::filesystem::path& out) {
  const Free below_scratch = free_at(scratch), below_out = free_at(out);
  return {below_scratch.bytes, below_scratch.inodes, below_out.bytes, below_out.inodes,
          memory_left()};
}

double idle_processor_s() {
  // "cpu  user nice system idle iowait …", in ticks.
  std::ifstream in("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0;
  in >> name >> user >> nice >> system >> idle;
  return idle / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<std::string> shortage(const FreeSpace& left, const Need& need,
                                    const std::filesystem::path& scratch,
                                    const std::filesystem::path& out) {
  const std::string below_scratch = scratch.parent_path().string(), below_out = out.string();
  const auto space = [](const std::string& folder, std::uintmax_t is, std::uintmax_t wanted) {
    return text(folder, " has ", mebibytes(is), " left, and a file needs ", mebibytes(wanted),
                ": df -h ", folder, " shows the disk; free some space there");
  };
  const auto inodes = [](const std::string& folder, std::uintmax_t is, std::uintmax_t wanted) {
    return text(folder, " has room for ", is, " more files, and ", wanted, " are needed: df -i ",
                folder, " shows the disk; remove some files there");
  };
  if (left.scratch_bytes < need.scratch_bytes)
    return space(below_scratch, left.scratch_bytes, need.scratch_bytes);
  if (left.out_bytes < need.out_bytes) return space(below_out, left.out_bytes, need.out_bytes);
  if (left.scratch_inodes < need.scratch_inodes)
    return inodes(below_scratch, left.scratch_inodes, need.scratch_inodes);
  if (left.out_inodes < need.out_inodes) return inodes(below_out, left.out_inodes, need.out_inodes);
  if (left.memory_bytes < need.memory_bytes) {
    return text("this machine has ", mebibytes(left.memory_bytes),
                " of memory available, and a file needs ", mebibytes(need.memory_bytes),
                ": free -h shows it; end other programs, or grade with fewer --jobs");
  }
  return std::nullopt;
}

}  // namespace lockstep::grader
