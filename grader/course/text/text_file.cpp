#include "grader/course/text/text_file.hpp"

#include <fstream>
#include <sstream>

#include "engine/base/error.hpp"

namespace lockstep::grader {

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file)) {
    throw UsageError(text("cannot read ", file.string(), ": does this file exist?"));
  }
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

void write_text(const std::filesystem::path& file, const std::string& content) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << content;
  out.close();
  if (!out) throw Error(text("cannot write ", file.string(), ": is the disk full or read-only?"));
}

}  // namespace lockstep::grader
