// PTX as text: kernels by their entries, instructions a line each.
#include "tests/gpu/kernel_mutations.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <utility>

#include "engine/base/text.hpp"
#include "engine/gpu/open_gpu.hpp"

namespace lockstep::test {
namespace {

std::string demangled(const std::string& symbol) {
  int status = 0;
  char* const whole = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? whole : symbol;
  std::free(whole);
  return name;
}

void leave_out(std::string& text, std::string_view part) {
  for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
}

// What becomes of a line of PTX, and of which kind the change is.
struct Change {
  const char* kind;
  std::regex from;
  const char* to;
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all{
      {"barrier", std::regex("bar\\.sync.*"), ""},
      {"bound", std::regex("setp\\.lt\\.([su].*)"), "setp.le.$1"},
      {"bound", std::regex("setp\\.le\\.([su].*)"), "setp.lt.$1"},
      {"bound", std::regex("setp\\.gt\\.([su].*)"), "setp.ge.$1"},
      {"bound", std::regex("setp\\.ge\\.([su].*)"), "setp.gt.$1"},
      {"condition", std::regex("setp\\.eq\\.([sub].*)"), "setp.ne.$1"},
      {"condition", std::regex("setp\\.ne\\.([sub].*)"), "setp.eq.$1"},
      {"condition", std::regex("setp\\.eq\\.(f.*)"), "setp.neu.$1"},
      {"condition", std::regex("setp\\.neu\\.(f.*)"), "setp.eq.$1"},
      {"condition", std::regex("setp\\.(lt|le)(u?)\\.(f.*)"), "setp.gt$2.$3"},
      {"condition", std::regex("setp\\.(gt|ge)(u?)\\.(f.*)"), "setp.lt$2.$3"},
      {"mask", std::regex("((shfl|vote)\\.sync.*, )[^,]+;"), "$0165535;"},
      {"distance", std::regex("(shfl\\.sync\\.bfly\\S*\\s[^,]+, [^,]+, )[^,]+(, .*)"), "$010$02"},
      {"scale", std::regex("mul\\.(rn\\.)?(f..)(.*)"), "add.$1$2$3"},
      {"atomic", std::regex("(atom|red)(.*)\\.min(.*)"), "$1$2.max$3"},
      {"atomic", std::regex("(atom|red)(.*)\\.max(.*)"), "$1$2.min$3"},
      {"atomic", std::regex("atom(.*)\\.add(.*)"), "atom$1.exch$2"},
      {"atomic", std::regex("red(.*)\\.add(.*)"), "red$1.max$2"},
  };
  return all;
}

// Three lines, one after the other: what either number has above its lower half, compared with 0.
class DivisionChoice {
 public:
  bool ends_with(const std::string& line) {
    static const std::regex either("or\\.b64 (%rd[0-9]+), .*");
    static const std::regex upper("and\\.b64 (%rd[0-9]+), (%rd[0-9]+), -4294967296;");
    static const std::regex none("setp\\.(eq|ne)\\.s64 %p[0-9]+, (%rd[0-9]+), 0;");
    std::smatch match;
    const std::string both = std::exchange(both_, ""), above = std::exchange(above_, "");
    if (std::regex_match(line, match, either)) both_ = match[1];
    if (std::regex_match(line, match, upper) && match[2] == both) above_ = match[1];
    return std::regex_match(line, match, none) && match[2] == above;
  }

 private:
  std::string both_, above_;  // the registers that the line before wrote
};

// "sum_by_teams<float, 32>" of "void lockstep::gpu::...::sum_by_teams<float, 32>(...)".
std::string short_name(std::string demangled) {
  for (const char* part :
       {"lockstep::", "gpu::", "kernels::", "(anonymous namespace)::", "void "}) {
    leave_out(demangled, part);
  }
  return demangled.substr(0, demangled.find('('));
}

// The table of files that comes next in the object: a text of PTX has its own behind its kernels.
class FileTable {
 public:
  explicit FileTable(const std::string& object) : object_(object) {}

  const std::map<int, std::string>& behind(std::size_t place) {
    if (place < at_) return files_;
    constexpr std::string_view line = "\n.file\t";
    files_.clear();
    for (at_ = object_.find(line, place);
         at_ != std::string::npos && object_.compare(at_, line.size(), line) == 0;) {
      const std::size_t end = object_.find('\n', at_ + 1), name = object_.find('"', at_) + 1;
      files_[std::stoi(object_.substr(at_ + line.size()))] = object_.substr(name, end - 1 - name);
      at_ = end;
    }
    return files_;
  }

 private:
  const std::string& object_;
  std::size_t at_ = 0;  // the end of the table that was read
  std::map<int, std::string> files_;
};

}  // namespace

std::map<std::string, Counted> counted_on_paper() {
  std::map<std::string, Counted> all;
  std::istringstream lines(gpu::paper_counters());
  std::string line;
  std::getline(lines, line);  // the columns' names
  while (std::getline(lines, line)) {
    std::istringstream row(line);
    Counted of;
    double instructions = 0, flops = 0, barriers = 0, atomics = 0, divergent = 0;
    row >> of.launches >> instructions >> flops >> of.sectors >> of.passes >> barriers >> atomics >>
        divergent >> std::ws;
    std::string kernel;
    std::getline(row, kernel);
    all[kernel] = of;
  }
  return all;
}

std::vector<Kernel> kernels_of_object() {
  std::ifstream file(LOCKSTEP_GPU_OBJECT, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const std::string object = std::move(bytes).str();
  constexpr std::string_view entry = ".entry ";
  std::vector<Kernel> kernels;
  FileTable files(object);
  for (std::size_t at = object.find(entry); at != std::string::npos; at = object.find(entry, at)) {
    const std::size_t name = at + entry.size(), parameters = object.find('(', name);
    const std::size_t end = object.find("\n}", at);
    if (end == std::string::npos || parameters > end) break;
    // Beside each text lies one for debuggers, without line breaks, which nobody runs.
    if (object[parameters + 1] != '\n') {
      at = parameters;
      continue;
    }
    std::string symbol = object.substr(name, parameters - name);
    std::string short_one = short_name(demangled(symbol));
    kernels.push_back(
        {std::move(symbol), std::move(short_one), object.substr(at, end - at), files.behind(end)});
    at = end;
  }
  return kernels;
}

std::vector<Mutation> mutations_of(const Kernel& kernel) {
  std::vector<Mutation> all;
  std::map<std::string, int> of_kind, of_text;
  std::istringstream lines(kernel.ptx);
  const std::regex place("\\.loc\\s+([0-9]+) ([0-9]+) .*");
  std::smatch match;
  std::string file;
  int source_line = 0;
  DivisionChoice division;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    line.erase(0, first);
    if (std::regex_match(line, match, place)) {
      if (const int number = std::stoi(match[2]); number != 0) {
        source_line = number;
        file = kernel.files.at(std::stoi(match[1]));
      }
      continue;
    }
    const int n = ++of_text[line];  // of lines that read alike, the one meant is counted
    const bool chooses_division = division.ends_with(line);
    for (const Change& change : changes()) {
      if (!std::regex_match(line, change.from)) continue;
      const int nth = ++of_kind[change.kind];
      all.push_back({change.kind, text(kernel.name, " ", change.kind, " ", nth), line, file,
                     source_line,
                     text(kernel.symbol, "~", n, "~", line, "~",
                          std::regex_replace(line, change.from, change.to)),
                     chooses_division});
    }
  }
  return all;
}

}  // namespace lockstep::test
