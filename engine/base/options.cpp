// The only file that knows cxxopts: it splits the words; all sentences are ours.
#include "engine/base/options.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#define CXXOPTS_NO_REGEX  // its own parser in place of <regex>, which takes 8 s to compile
#include <cxxopts.hpp>
#include <limits>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"

namespace lockstep {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

// Later lines of an option's help stand below its first.
std::string indented(const std::string& help, std::size_t column) {
  std::string lines;
  for (const char c : help) {
    lines += c;
    if (c == '\n') lines += std::string(column, ' ');
  }
  return lines;
}

}  // namespace

const Arguments::Value& Arguments::find(const std::string& name) const {
  const auto found = values_.find(name);
  LOCKSTEP_CHECK(found != values_.end(), "option --", name,
                 " was never declared; declare it first");
  return found->second;
}

bool Arguments::flag(const std::string& name) const { return find(name).text == "true"; }
bool Arguments::given(const std::string& name) const { return find(name).given; }
const std::string& Arguments::get(const std::string& name) const { return find(name).text; }

Arguments Arguments::with(const std::string& name, const std::string& value) const {
  Arguments all = *this;
  Value& one = all.values_.at(name);
  one.text = value;
  one.given = true;
  return all;
}

std::string Arguments::value(const std::string& name) const {
  const Value& found = find(name);
  if (!found.all.empty()) return joined(found.all);
  return found.given || !found.otherwise ? found.text : found.otherwise(*this);
}

bool Arguments::declared(const std::string& name) const { return values_.contains(name); }

bool Arguments::has(const std::string& setting) const {
  LOCKSTEP_CHECK(setting.starts_with("--"), "\"", setting, "\" is no setting; write --name value");
  const std::size_t blank = setting.find(' ');
  const bool any = blank == std::string::npos;
  const Value& value = find(setting.substr(2, any ? blank : blank - 2));
  if (!any) {
    const std::string wanted = setting.substr(blank + 1);
    return wanted.ends_with(':') ? value.text.starts_with(wanted) : value.text == wanted;
  }
  return value.text != value.fallback || !value.all.empty();
}

std::int64_t Arguments::integer(const std::string& name, std::int64_t at_least) const {
  const std::string typed = value(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), value);
  if (error != std::errc{} || end != typed.data() + typed.size()) {
    throw UsageError(text("--", name, " takes a whole number, got \"", typed, "\""));
  }
  if (value < at_least) {
    throw UsageError(text("--", name, " must be at least ", at_least, ", got ", value));
  }
  return value;
}

double Arguments::number(const std::string& name, double at_least) const {
  const std::string typed = value(name);
  char* end = nullptr;
  const double value = std::strtod(typed.c_str(), &end);
  if (typed.empty() || end != typed.c_str() + typed.size() || value - value != 0) {
    throw UsageError(text("--", name, " takes a number, got \"", typed, "\""));
  }
  if (value < at_least) {
    throw UsageError(text("--", name, " must be at least ", at_least, ", got ", typed));
  }
  return value;
}

Options::Options(std::string program, std::string purpose)
    : program_(std::move(program)), purpose_(std::move(purpose)) {
  flag("help", "print this help and exit");
}

Options& Options::declare(Option option) {
  option.section = sections_.size() - 1;
  if (const auto rule = sections_.back().rule; rule != no_rule) {
    rules_[rule].names.push_back(option.name);
  }
  options_.push_back(std::move(option));
  return *this;
}

Options& Options::section(const std::string& title) {
  if (sections_.back().title == title) return *this;
  sections_.push_back({title, no_rule});
  return *this;
}

Options& Options::section(const std::string& title, const std::string& setting) {
  sections_.push_back({title + " (" + setting + ")", rules_.size()});
  return only_with({}, setting);
}

Options& Options::flag(const std::string& name, const std::string& help) {
  return declare({Option::Kind::flag, name, "", help, {}, 0});
}

Options& Options::flag(const std::string& name, std::vector<std::string> choices,
                       const std::string& help) {
  return declare({Option::Kind::flag, name, "", help, std::move(choices), 0});
}

Options& Options::option(const std::string& name, const std::string& fallback,
                         const std::string& help) {
  return declare({Option::Kind::value, name, fallback, help, {}, 0});
}

Options& Options::choice(const std::string& name, std::vector<std::string> choices,
                         const std::string& fallback, const std::string& help) {
  return declare({Option::Kind::value, name, fallback, help + ": " + joined(choices), choices, 0});
}

Options& Options::alias(const std::string& word, const std::string& choice,
                        const std::string& why) {
  options_.back().aliases[word] = {choice, why};
  return *this;
}

Options& Options::otherwise(std::function<std::string(const Arguments&)> value) {
  options_.back().otherwise = std::move(value);
  return *this;
}

Options& Options::shared(Shared what) {
  options_.back().shared = what;
  return *this;
}

Options& Options::list(const std::string& name, const std::string& help) {
  return declare({Option::Kind::values, name, "", help, {}, 0});
}

Options& Options::words(const std::string& placeholder, const std::string& help) {
  words_ = {placeholder, help};
  return *this;
}

Options& Options::rest(const std::string& placeholder, const std::string& help) {
  rest_ = {placeholder, help};
  return *this;
}

Options& Options::only_with(std::vector<std::string> names, const std::string& setting) {
  return only_if(std::move(names), "belongs to " + setting + "; leave it out",
                 [setting](const Arguments& arguments) { return arguments.has(setting); });
}

Options& Options::only_if(std::vector<std::string> names, std::string why, Condition applies) {
  rules_.push_back({std::move(names), std::move(why), std::move(applies)});
  return *this;
}

Options& Options::exclude(std::vector<std::string> names, std::string why) {
  return only_if(std::move(names), std::move(why), nullptr);
}

// Every name and every condition is looked at in every run, so that a rule about an option that was
// never declared does not wait for the run that breaks it.
void Options::check(const Arguments& arguments) const {
  for (const Rule& rule : rules_) {
    std::vector<std::string> given;
    for (const auto& name : rule.names) {
      if (arguments.given(name)) given.push_back("--" + name);
    }
    const bool excludes = rule.applies == nullptr;
    if (!excludes && !rule.applies(arguments) && !given.empty()) {
      throw UsageError(given.front() + " " + rule.why);
    }
    if (excludes && given.size() > 1) {
      throw UsageError(given[0] + " and " + given[1] + " " + rule.why);
    }
  }
}

void Options::refuse_unknown(const std::string& typed) const {
  const std::string name = typed.substr(typed.find_first_not_of('-'));
  throw UsageError(text("unknown option ", typed,
                        did_you_mean(name.substr(0, name.find('=')), names(), "--"), " (", program_,
                        " --help lists all options)"));
}

// Only the last word can be an option whose value is missing.
void Options::refuse_missing_value(const std::string& last) const {
  for (const auto& option : options_) {
    if (last != "--" + option.name || option.kind == Option::Kind::flag) continue;
    throw UsageError(
        text(last, " needs a value: ", option.help.substr(0, option.help.find(":\n"))));
  }
}

Arguments Options::parse(int argc, const char* const* argv) const {
  Arguments arguments = read(argc, argv);
  if (!arguments.asks_help()) check(arguments);
  return arguments;
}

// "--resume", "auto": "--resume=auto", as cxxopts expects the value of a flag.
std::vector<std::string> Options::with_values_of_flags(std::vector<std::string> words) const {
  for (const Option& option : options_) {
    if (option.kind != Option::Kind::flag || option.choices.empty()) continue;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] != "--" + option.name || words[i + 1].starts_with("-")) continue;
      words[i] += "=" + words[i + 1];
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }
  return words;
}

Arguments Options::read(int argc, const char* const* argv) const {
  cxxopts::Options parser(program_, purpose_);
  parser.allow_unrecognised_options();
  for (const auto& option : options_) {
    auto value = option.kind == Option::Kind::values ? cxxopts::value<std::vector<std::string>>()
                                                     : cxxopts::value<std::string>();
    if (option.kind == Option::Kind::flag) value->implicit_value("true");
    parser.add_options()(option.name, option.help, value);
  }

  Arguments arguments;
  // cxxopts joins what stands after "--" with the other words; they are kept apart here.
  const char* const* end = argv + argc;
  const char* const* stop = std::find(argv, end, std::string("--"));
  if (stop != end) {
    if (rest_.placeholder.empty()) throw UsageError("nothing may follow \"--\"; leave it out");
    arguments.rest_.assign(stop + 1, end);
  }

  const std::vector<std::string> joined_words = with_values_of_flags({argv, stop});
  std::vector<const char*> words;
  for (const std::string& word : joined_words) words.push_back(word.c_str());
  cxxopts::ParseResult result;
  try {
    result = parser.parse(static_cast<int>(words.size()), words.data());
  } catch (const std::exception& problem) {
    refuse_missing_value(*(stop - 1));
    throw UsageError(text(problem.what(), " (", program_, " --help lists all options)"));
  }

  for (const auto& word : result.unmatched()) {
    if (word.size() > 1 && word.front() == '-') refuse_unknown(word);
    if (words_.placeholder.empty() && !rest_.placeholder.empty()) {
      throw UsageError(text("put -- before the program: ", program_, " [options] -- ", word, " …"));
    }
    if (words_.placeholder.empty()) {
      throw UsageError(text("\"", word, "\" is not expected here; options begin with --"));
    }
    arguments.words_.push_back(word);
  }
  for (const auto& typed : result.arguments()) {
    const auto option = std::ranges::find(options_, typed.key(), &Option::name);
    // A value that could be taken for an option stays in its word.
    const bool flag = option->kind == Option::Kind::flag;
    const bool apart = !flag && !typed.value().empty() && typed.value().front() != '-';
    std::vector<std::string> again{"--" + typed.key()};
    if (apart) again.push_back(typed.value());
    if (!apart && !(flag && typed.value() == "true")) again[0] += "=" + typed.value();
    arguments.typed_.push_back({typed.key(), again});
  }
  for (const auto& option : options_) {
    auto& value = arguments.values_[option.name];
    value.given = result.count(option.name) > 0;
    value.fallback = option.kind == Option::Kind::flag ? "false" : option.fallback;
    value.otherwise = option.otherwise;
    value.shared = option.shared;
    if (option.kind == Option::Kind::values) {
      if (value.given) value.all = result[option.name].as<std::vector<std::string>>();
      continue;
    }
    value.text = value.given ? result[option.name].as<std::string>() : value.fallback;
    std::vector<std::string> choices = option.choices;
    if (option.kind == Option::Kind::flag) choices.insert(choices.end(), {"true", "false"});
    const bool chosen = value.given || !option.fallback.empty();
    if (chosen && !choices.empty() &&
        std::find(choices.begin(), choices.end(), value.text) == choices.end()) {
      const auto alias = option.aliases.find(value.text);
      const bool meant = alias != option.aliases.end();
      if (meant && !alias->second.why.empty()) {
        throw UsageError(text("--", option.name, " ", value.text, " ", alias->second.why));
      }
      throw UsageError(text("--", option.name, " ", value.text, " is not known",
                            did_you_mean(meant ? alias->second.choice : value.text, choices),
                            " (choices: ", joined(choices), ")"));
    }
  }
  return arguments;
}

std::vector<std::string> Options::names() const {
  std::vector<std::string> all;
  for (const Option& option : options_) all.push_back(option.name);
  return all;
}

std::string Options::help() const {
  std::string usage = text(purpose_, "\n\nusage: ", program_, " [options]");
  if (!words_.placeholder.empty()) usage += " " + words_.placeholder;
  if (!rest_.placeholder.empty()) usage += " -- " + rest_.placeholder;
  usage += "\n\n";
  // A row without a left side is a section's heading.
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Extra& extra : {words_, rest_}) {
    if (!extra.placeholder.empty()) rows.emplace_back(extra.placeholder, extra.help);
  }
  std::size_t section = 0;
  for (const auto& option : options_) {
    if (option.section != section) rows.emplace_back("", sections_[option.section].title);
    section = option.section;
    const bool takes_value = option.kind != Option::Kind::flag;
    rows.emplace_back(
        "--" + option.name +
            (takes_value              ? " X"
             : option.choices.empty() ? ""
                                      : " [" + joined(option.choices) + "]"),
        option.help + (option.fallback.empty() ? "" : " (default " + option.fallback + ")"));
  }
  std::size_t width = 0;
  for (const auto& [left, right] : rows) width = std::max(width, left.size());
  for (const auto& [left, right] : rows) {
    if (left.empty()) {
      usage += "\n" + right + "\n";
    } else {
      usage += "  " + left + std::string(width - left.size() + 2, ' ') +
               indented(right, width + 4) + "\n";
    }
  }
  return usage;
}

}  // namespace lockstep
