#include "grader/course/progress.hpp"

#include <fstream>
#include <span>
#include <sstream>

#include "engine/base/bytes.hpp"
#include "engine/base/text.hpp"
#include "grader/course/text_file.hpp"

namespace lockstep::grader {

Progress read_progress(const std::filesystem::path& file) {
  Progress progress;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string address;
    std::string hash, verdict, points, time;
    if (!std::getline(fields, address, '\t') || !std::getline(fields, hash, '\t') ||
        !std::getline(fields, verdict, '\t') || !(fields >> points >> time)) {
      continue;
    }
    Standing standing;
    standing.verdict = verdict;
    std::istringstream numbers(hash + " " + points + " " + time);
    if (numbers >> standing.content_hash >> standing.points >> standing.judged_at) {
      progress[address] = standing;
    }
  }
  return progress;
}

void write_progress(const std::filesystem::path& file, const Progress& progress) {
  std::string out;
  for (const auto& [address, standing] : progress) {
    out += text(address, "\t", standing.content_hash, "\t", standing.verdict, "\t", standing.points,
                "\t", standing.judged_at, "\n");
  }
  // Written beside and moved into place, so that an interrupted check loses nothing.
  const std::filesystem::path unfinished = file.string() + ".new";
  write_text(unfinished, out);
  std::filesystem::rename(unfinished, file);
}

std::uint64_t content_hash_of(const std::filesystem::path& file) {
  const std::string content = read_text(file);
  return checksum_of(std::as_bytes(std::span(content)));
}

}  // namespace lockstep::grader
