#include "grader/pack/written_parts.hpp"

#include <set>

#include "engine/base/text.hpp"
#include "grader/course/stub.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
}

class Reading {
 public:
  Reading(const std::string& stub, const std::string& name) : name_(name) {
    for (const std::string& line : lines_of(stub)) known_.insert(trimmed(line));
  }

  void line(const std::string& line) {
    if (line.find(region_end) != std::string::npos) return end();
    if (line.find(region_begin) != std::string::npos) return begin(line);
    if (inside_) {
      parts_ += line + "\n";
    } else if (!known_.contains(trimmed(line))) {
      outside_ += line + "\n";
    }
  }

  std::string all() {
    end();
    return outside_ + parts_;
  }
  int regions() const { return regions_; }

 private:
  void begin(const std::string& line) {
    end();
    inside_ = true;
    in_function_ = line.find(region_begin) > 0;  // a marker in column 0 is at namespace scope
    ++regions_;
    if (in_function_) parts_ += text("void ", name_, "_", regions_, "() {\n");
  }
  void end() {
    if (inside_ && in_function_) parts_ += "}\n";
    inside_ = false;
  }

  const std::string& name_;
  std::set<std::string> known_;
  std::string outside_, parts_;
  bool inside_ = false, in_function_ = false;
  int regions_ = 0;
};

}  // namespace

std::string written_part(const std::string& source, const std::string& stub,
                         const std::string& name) {
  Reading reading(stub, name);
  for (const std::string& line : lines_of(source)) reading.line(line);
  const std::string written = reading.all();
  return reading.regions() == 0 ? source : written;
}

}  // namespace lockstep::grader
