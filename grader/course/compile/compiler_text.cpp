// Reads what compilers print.
#include "grader/course/compile/compiler_text.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <vector>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t errors_max = 3;
constexpr int notes_max = 2;

enum class Severity : unsigned char { none, error, warning, note };

// One diagnosis: its own line, the context before it and the source lines behind it.
struct Diagnosis {
  Severity severity = Severity::none;
  std::string place;  // "work/ring.cpp:12:3"
  std::string words;  // behind "error: "
  std::vector<std::string> context, source;
};

struct Mark {
  std::string_view text;
  Severity severity;
};
constexpr std::array marks{
    Mark{": error: ", Severity::error}, Mark{": fatal error: ", Severity::error},
    Mark{": warning: ", Severity::warning}, Mark{": note: ", Severity::note}};

// "   15 |   const int right" or "      |   ^~~~~"
bool is_source(const std::string& line) {
  const std::size_t bar = line.find_first_not_of(" 0123456789");
  return bar != std::string::npos && bar > 0 && line[bar] == '|';
}

std::vector<Diagnosis> parsed(const std::string& output) {
  std::vector<Diagnosis> all;
  std::vector<std::string> context;
  std::istringstream in(output);
  for (std::string raw; std::getline(in, raw);) {
    const std::string line = plain_text(raw);
    if (is_source(line)) {
      if (!all.empty()) all.back().source.push_back(raw);
      continue;
    }
    Diagnosis found;
    for (const Mark& mark : marks) {
      const std::size_t at = line.find(mark.text);
      if (at == std::string::npos || found.severity != Severity::none) continue;
      found.severity = mark.severity;
      found.place = line.substr(0, at);
      found.words = line.substr(at + mark.text.size());
    }
    if (found.severity == Severity::none) {
      context.push_back(line);
      continue;
    }
    found.context = std::move(context);
    context.clear();
    all.push_back(std::move(found));
  }
  return all;
}

bool lies_in(const std::string& place, const std::string& file) {
  return place.rfind(file + ":", 0) == 0;
}

// "work/ring.cpp:16:12" of a context line "work/ring.cpp:16:12:   required from here".
std::string place_that_led_there(const Diagnosis& diagnosis, const std::string& file) {
  for (const std::string& line : diagnosis.context) {
    const std::size_t at = line.find(":   required from");
    if (at != std::string::npos && lies_in(line, file)) return line.substr(0, at);
  }
  return {};
}

// The place at which the student is to look.
std::string place_of(const Diagnosis& diagnosis, const std::string& file) {
  const std::string led =
      lies_in(diagnosis.place, file) ? "" : place_that_led_there(diagnosis, file);
  return led.empty() ? diagnosis.place : led;
}

void erase_all(std::string& text, std::string_view what) {
  for (std::size_t at; (at = text.find(what)) != std::string::npos;) text.erase(at, what.size());
}

// Names as a student writes them.
std::string short_names(std::string text) {
  for (std::size_t at; (at = text.find(" {aka ")) != std::string::npos;) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) break;
    text.erase(at, end + 1 - at);
  }
  // A name that the compiler proposes keeps what has to be written before it.
  const std::size_t proposal = std::min(text.find("did you mean "), text.size());
  std::string proposed = text.substr(proposal);
  text.resize(proposal);
  erase_all(text, "lockstep::comm::");
  for (const std::string_view part : {"lockstep::", "std::__cxx11::"}) {
    erase_all(text, part);
    erase_all(proposed, part);
  }
  return text + proposed;
}

std::string_view name_of(Severity severity) {
  if (severity == Severity::error) return "error: ";
  return severity == Severity::warning ? "warning: " : "note: ";
}

bool is_systems(const std::string& place, const std::string& root) {
  return place.starts_with("/") && place.rfind(root + "/", 0) != 0;
}

// One error or warning, or the note that explains it.
void tell(std::string& out, const Diagnosis& diagnosis, const std::string& file,
          const std::string& root) {
  std::string place = place_of(diagnosis, file);
  const bool of_template = place != diagnosis.place;
  if (place.rfind(root + "/", 0) == 0) place.erase(0, root.size() + 1);
  out += text(place, ": ", name_of(diagnosis.severity), short_names(diagnosis.words), "\n");
  if (of_template) return;  // the source is the template's
  for (const std::string& line : diagnosis.source) {
    const bool labels = plain_text(line).find_first_not_of(' ') >= 6;  // below the source itself
    out += (labels ? short_names(line) : line) + "\n";
  }
}

struct Advice {
  std::string_view sign, words;
};
constexpr std::array advices{
    Advice{"or ‘;’ before", "a ; is missing at the end of the previous statement"},
    Advice{"expected ‘;’ before", "a ; is missing at the end of the previous statement"},
    Advice{"expected ';'", "a ; is missing"},
    Advice{"expected initializer before", "a ; is missing at the end of the previous statement"},
    Advice{"has not been declared", "include the header that declares it, which the task names"},
    Advice{"expected ‘}’ at end of input", "a { is never closed"},
    Advice{"expected '}'", "a { is never closed"},
    Advice{"no return statement in function", "the function has to return a value"},
    Advice{"control reaches end of non-void",
           "every way through the function has to return a value"},
    Advice{"to be of abstract type", "it can only be passed by reference: write & after its type"},
    Advice{"has incomplete type", "include the header that defines it"},
    Advice{"discards qualifiers", "it is const here: take it by value or by const &"},
    Advice{"no match for ‘operator", "its type has no such operator; see its header"},
};

}  // namespace

std::string readable_diagnostics(const std::string& output, const std::string& file,
                                 const std::string& root) {
  const std::vector<Diagnosis> all = parsed(output);
  if (all.empty()) return output;
  std::string out;
  std::set<std::string> errors;
  int notes = notes_max;  // of the error or warning before
  for (const Diagnosis& diagnosis : all) {
    if (diagnosis.severity == Severity::note) {
      // With what it explains, unless only a library's author could use it.
      if (notes++ < notes_max && !is_systems(diagnosis.place, root)) {
        tell(out, diagnosis, file, root);
      }
      continue;
    }
    notes = notes_max;
    // Errors elsewhere that follow from an error in the student's lines are no news.
    const bool far =
        !lies_in(diagnosis.place, file) && place_that_led_there(diagnosis, file).empty();
    if (far && !out.empty()) continue;
    if (!errors.insert(diagnosis.words + place_of(diagnosis, file)).second) continue;
    if (errors.size() > errors_max) continue;
    notes = 0;
    tell(out, diagnosis, file, root);
  }
  if (errors.size() > errors_max) {
    const std::size_t left = errors.size() - errors_max;
    out += text("… and ", left, " more, which may follow from these\n");
  }
  return out;
}

std::string first_error(const std::string& compiler_output, const std::string& file) {
  const std::vector<Diagnosis> all = parsed(compiler_output);
  std::string elsewhere;
  for (const Diagnosis& diagnosis : all) {
    if (diagnosis.severity != Severity::error) continue;
    const std::string words = short_names(diagnosis.words) + advice_for(diagnosis.words);
    if (lies_in(diagnosis.place, file)) return diagnosis.place + ": " + words;
    const std::string led = place_that_led_there(diagnosis, file);
    if (!led.empty()) return led + ": " + words;
    if (elsewhere.empty()) elsewhere = ": " + diagnosis.place + ": " + words;
  }
  return file + " does not compile" + elsewhere;
}

bool finds_errors_in(const std::string& compiler_output, const std::string& file) {
  const std::vector<Diagnosis> all = parsed(compiler_output);
  return std::any_of(all.begin(), all.end(), [&](const Diagnosis& diagnosis) {
    if (diagnosis.severity != Severity::error) return false;
    const auto leads_here = [&](const std::string& line) {
      return line.find(" from " + file + ":") != std::string::npos;  // "In file included from"
    };
    return lies_in(diagnosis.place, file) || !place_that_led_there(diagnosis, file).empty() ||
           std::any_of(diagnosis.context.begin(), diagnosis.context.end(), leads_here);
  });
}

bool gave_up(const std::string& output) {
  constexpr std::array signs{"No space left on device",
                             "Disk quota exceeded",
                             "Input/output error",
                             "Read-only file system",
                             "error writing to",
                             "Cannot allocate memory",
                             "out of memory",
                             "memory exhausted",
                             "Too many open files",
                             "Resource temporarily",
                             "std::bad_alloc",
                             "internal compiler error",
                             "signal terminated",
                             "terminated with signal",
                             "Disk full",
                             "fallocate",
                             "PLEASE submit a bug report"};
  return std::any_of(signs.begin(), signs.end(),
                     [&](const char* sign) { return output.find(sign) != std::string::npos; });
}

std::string advice_for(std::string_view error) {
  // A copy constructor that is deleted: "use of deleted function ‘X::X(const X&)’".
  if (error.find("deleted") != std::string_view::npos &&
      error.find("(const ") != std::string_view::npos) {
    return "; it cannot be copied: use a reference, or std::move";
  }
  for (const Advice& advice : advices) {
    if (error.find(advice.sign) != std::string_view::npos) return text("; ", advice.words);
  }
  return {};
}

std::string plain_text(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    while (i < line.size() && line[i] != 'm' && line[i] != 'K') ++i;
  }
  return out;
}

std::string shortened(const std::string& output) {
  constexpr int lines_max = 60;
  std::istringstream in(output);
  std::string out;
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    if (lines < lines_max) out += line + "\n";
  }
  if (lines > lines_max) out += text("… and ", counted(lines - lines_max, "more line"), "\n");
  return out;
}

}  // namespace lockstep::grader
