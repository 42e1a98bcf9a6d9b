#include "grader/course/compile/inspection.hpp"

#include <array>
#include <random>

#include "engine/base/error.hpp"
#include "grader/course/compile/assembly_text.hpp"
#include "grader/course/compile/machine_code.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// Preprocessed, with its marks, and with what these become; assembly, and the list of functions.
constexpr std::array extensions{".ii", ".marked.cpp", ".marks", ".s", ".su"};

// The compiler may have been told to write a link in a file's place.
std::optional<std::string> text_made(const fs::path& file) {
  if (!fs::is_regular_file(fs::symlink_status(file))) return std::nullopt;
  return read_text(file);
}

// Nobody can have written this name into a source.
std::string fresh_mark() {
  std::random_device device;
  std::string mark = "lockstep";
  for (int i = 0; i < 4; ++i) mark += text("_", device());
  return mark;
}

}  // namespace

Inspection::Inspection(const Recipe& recipe, const fs::path& object, const BuildTool& tool,
                       StudentBuild& build)
    : recipe_(recipe), object_(object), tool_(tool), build_(build) {}

Inspection::~Inspection() {
  std::error_code gone;
  for (const char* extension : extensions) fs::remove(beside(extension), gone);
}

fs::path Inspection::beside(const char* extension) const { return object_.string() + extension; }

void Inspection::refuse(const std::string& why) {
  build_.cause = "machine_code";
  build_.message = why;
}

CommandResult Inspection::run(std::vector<std::string> words, const std::vector<fs::path>& reads) {
  std::vector<std::string> argv{"env", "LC_ALL=C.UTF-8", recipe_.compiler};
  argv.insert(argv.end(), recipe_.compile_flags.begin(), recipe_.compile_flags.end());
  argv.insert(argv.end(), words.begin(), words.end());
  CommandResult result = tool_(argv, reads);
  build_.compile_s += result.seconds;
  return result;
}

bool Inspection::look_at(const std::string& shown, const fs::path& headers) {
  std::vector<std::string> words{"-E", shown, "-o", beside(".ii").string()};
  std::vector<fs::path> reads;
  if (!recipe_.plain_header.empty()) {
    words.insert(words.begin(), {"-include", recipe_.plain_header.string()});
    reads = {recipe_.plain_header, headers};
  }
  const CommandResult result = run(words, reads);
  if (result.exit_code != 0) return false;
  warnings_ = result.output;
  const auto preprocessed = text_made(beside(".ii"));
  if (!preprocessed) return false;

  const std::string mark = fresh_mark();
  const MarkedText marked = marked_text(*preprocessed, mark);
  write_text(beside(".marked.cpp"), marked.text);
  words = {
      "-undef", "-w", "-P", "-E", beside(".marked.cpp").string(), "-o", beside(".marks").string()};
  words.insert(words.begin(), marked.words.begin(), marked.words.end());
  const int exit_code = run(words, {}).exit_code;
  const auto marks = text_made(beside(".marks"));
  if (exit_code != 0 || !marks) return false;
  if (const auto why = machine_code_in(*preprocessed, *marks, mark, shown)) refuse(*why);
  return true;
}

CommandResult Inspection::compile(const std::string& shown, const std::vector<std::string>& flags) {
  std::vector<std::string> words = assembly_flags();
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(),
               {"-x", "c++-cpp-output", beside(".ii").string(), "-o", beside(".s").string()});
  CommandResult result = run(words, {});
  result.output = warnings_ + result.output;
  if (result.timed_out || result.exit_code != 0) return result;
  const auto assembly = text_made(beside(".s")), functions = text_made(beside(".su"));
  if (!assembly || !functions) {
    result.exit_code = 1;
    return result;
  }
  if (const auto why = foreign_assembly_in(*assembly, *functions, shown)) {
    refuse(*why);
    return result;
  }
  const CommandResult assembled = tool_(
      {recipe_.compiler, "-c", "-x", "assembler", beside(".s").string(), "-o", object_.string()},
      {});
  build_.compile_s += assembled.seconds;
  return assembled.exit_code == 0 && !assembled.timed_out ? result : assembled;
}

}  // namespace lockstep::grader
