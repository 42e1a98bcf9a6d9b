// One function per habit.
#include "tests/house/habits.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace lockstep::house {
namespace {

constexpr std::size_t lines_max = 400;

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool is_word_at(std::string_view text, std::size_t at, std::size_t length) {
  const auto part_of_word = [&](std::size_t i) {
    return std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_';
  };
  return (at == 0 || !part_of_word(at - 1)) &&
         (at + length >= text.size() || !part_of_word(at + length));
}

bool has_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (is_word_at(text, at, word.size())) return true;
  }
  return false;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// "Type name;", "Type name = …" or "Type name{…": no parenthesis before the first of these ends.
bool declares_variable(std::string_view code) {
  const auto end = code.find_first_of("=;{");
  return end != std::string_view::npos && code.substr(0, end).find('(') == std::string_view::npos &&
         trimmed(code.substr(0, end)).find(' ') != std::string_view::npos;
}

bool is_constant(std::string_view code) {
  return has_word(code, "const") || has_word(code, "constexpr") || has_word(code, "constinit");
}

// Words with which a line in column 0 begins that declares something other than a variable.
bool begins_otherwise(std::string_view code) {
  constexpr std::array words{"using",         "namespace", "class",  "struct",  "enum",
                             "template",      "union",     "friend", "typedef", "extern",
                             "static_assert", "return",    "public", "private", "requires"};
  for (const std::string_view word : words) {
    if (starts_with(code, word) && is_word_at(code, 0, word.size())) return true;
  }
  return std::isalpha(static_cast<unsigned char>(code.front())) == 0;
}

template <typename Rule>
Complaints each_line(const Source& source, std::string_view why, const Rule& broken) {
  Complaints found;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const std::string code = code_of(source.lines[i]);
    if (!trimmed(code).empty() && broken(code)) {
      found.push_back(complaint(source, i, std::string(why)));
    }
  }
  return found;
}

}  // namespace

Complaints too_long(const Source& source) {
  if (source.lines.size() <= lines_max) return {};
  return {complaint(source, lines_max, "longer than 400 lines: split it by ideas")};
}

Complaints no_opening_comment(const Source& source) {
  const std::string first = source.lines.empty() ? "" : source.lines.front();
  if (starts_with(first, "// ")) return {};
  const std::string folder = source.path.substr(0, source.path.rfind('/') + 1);
  const bool is_source = source.path.ends_with(".cpp");
  if (is_source && starts_with(first, "#include \"" + folder)) return {};
  return {complaint(source, 0, "begins without a comment that says what the file is about")};
}

Complaints reads_environment(const Source& source) {
  // Paper stands where NVIDIA's libraries stood, in a program that knows nothing of it.
  // A sentence about the folder for temporary files names the variable that says where it is. Where
  // a user's cache is, and whether tests believe it, variables say: ctest starts them without
  // options.
  constexpr std::array allowed{"engine/launch/", "engine/paper/settings.cpp",
                               "engine/base/temporary_folder.cpp", "grader/memory/memory.cpp"};
  if (std::ranges::any_of(allowed, [&](auto path) { return starts_with(source.path, path); })) {
    return {};
  }
  Complaints found;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const std::string code = code_of(source.lines[i]);
    if (!has_word(code, "getenv") && !has_word(code, "secure_getenv")) continue;
    if (source.lines[i].find("getenv(\"NO_COLOR\")") != std::string::npos) continue;
    found.push_back(complaint(source, i, "only engine/launch reads the environment"));
  }
  return found;
}

Complaints hidden_state(const Source& source) {
  // The functions of CUDA take no object: what they know belongs to the process.
  for (const char* library :
       {"engine/paper/cudart/", "engine/paper/cublas/", "engine/paper/nccl/"}) {
    if (starts_with(source.path, library)) return {};
  }
  // Neither does the function that every throw calls: where it came from is known to nobody else.
  if (source.path == "grader/play/thrown_at.cpp") return {};
  // And these impostors lie by what no object holds.
  for (const char* lie : {"rank0_checkpoint.remembers", "async_checkpoint.loses_errors"}) {
    if (source.path == std::string("grader/impostors/lying/") + lie + ".cpp") return {};
  }
  const std::string why = "state outside every object: pass it as a value";
  return each_line(source, why, [](const std::string& code) {
    if (has_word(code, "thread_local")) return true;
    const std::string_view line = trimmed(code);
    if (is_constant(line)) return false;
    if (starts_with(line, "static ")) return declares_variable(line);
    const bool at_namespace_scope = code.front() != ' ';
    return at_namespace_scope && line.back() == ';' && !begins_otherwise(line) &&
           declares_variable(line);
  });
}

Complaints bool_parameters(const Source& source) {
  const std::string why = "a bool parameter: an enum says at the call what is meant";
  return each_line(source, why, [](const std::string& code) {
    return code.find("(bool ") != std::string::npos || code.find(", bool ") != std::string::npos;
  });
}

Complaints unframed_main(const Source& source) {
  // What these print goes to a program of ours, which sees for itself what is missing.
  constexpr std::array inner{"grader/sandbox/reader_main.cpp", "grader/sandbox/probe_player.cpp",
                             "grader/sandbox/box_main.cpp",    "grader/impostors/main.cpp",
                             "grader/play/player_main.cpp",    "grader/judge/judge_main.cpp"};
  if (std::ranges::find(inner, source.path) != inner.end()) return {};
  constexpr std::array frames{"run_main(", "run_program(", "run_tool("};
  Complaints found;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    if (!starts_with(source.lines[i], "int main(")) continue;
    const bool framed = std::any_of(source.lines.begin() + static_cast<std::ptrdiff_t>(i),
                                    source.lines.end(), [&](const std::string& line) {
                                      return std::ranges::any_of(frames, [&](const char* frame) {
                                        return line.find(frame) != std::string::npos;
                                      });
                                    });
    if (!framed)
      found.push_back(complaint(source, i,
                                "a main outside run_main(), which looks "
                                "whether the output has arrived"));
  }
  return found;
}

Complaints drawn_backwards(const Source& source) {
  constexpr std::array rooms{"grader/exam/", "grader/parts/", "grader/play/"};
  if (std::ranges::none_of(rooms, [&](auto room) { return starts_with(source.path, room); })) {
    return {};
  }
  constexpr std::array allowed{
      // The contract asks for this generator, by name or by its results.
      "grader/parts/10_compression/random_k/case.hpp",
      "grader/parts/10_compression/random_k/exam.cpp",
      "grader/parts/10_compression/power_sgd/oracle.cpp",
      // The seed is what this rank itself is given: it makes its own model, layers, or the order in
      // which its parameters lie in memory. The seed comes from keyed_bits.
      "grader/parts/05_data_parallel/broadcast_parameters/player.cpp",
      "grader/parts/05_data_parallel/training_loop/case.hpp",
      "grader/parts/11_sharding/activation_checkpoint/case.hpp", "grader/play/gradients.hpp",
      // A step's number, once the judge has told it.
      "grader/play/saved_state.hpp"};
  if (std::ranges::find(allowed, source.path) != allowed.end()) return {};
  const std::string why =
      "whoever has one number of this generator has them all: an exam draws with keyed_bits, "
      "keyed_uniform and keyed_order";
  return each_line(source, why, [](const std::string& code) {
    constexpr std::array words{"random_bits", "random_uniform", "random_permutation", "mt19937"};
    return trimmed(code) == "#include <random>" ||
           std::ranges::any_of(words, [&](auto word) { return has_word(code, word); });
  });
}

Complaints unfinished_words(const Source& source) {
  Complaints found;
  constexpr std::array words{
      "TO"
      "DO",
      "FIX"
      "ME",
      "X"
      "XX",
      "HA"
      "CK"};
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    for (const std::string_view word : words) {
      if (has_word(source.lines[i], word)) {
        found.push_back(complaint(source, i, "says " + std::string(word)));
      }
    }
  }
  return found;
}

Complaints unlistable_test_names(const Source& source) {
  Complaints found;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const std::string& line = source.lines[i];
    const auto start = line.find("TEST_CASE(\"");
    if (start == std::string::npos) continue;
    const auto open = line.find('"', start);
    const auto close = line.find('"', open + 1);
    const std::string name = line.substr(open + 1, close - open - 1);
    if (name.find_first_of("[];\\") == std::string::npos) continue;
    found.push_back(complaint(source, i, "ctest cannot list a name with one of [ ] ; \\: " + name));
  }
  return found;
}

}  // namespace lockstep::house
