// A program's command line, declared once: names, defaults and help stand together, and every
// mistake becomes one UsageError that says what was typed and what was probably meant.
//
//   Options options("train", "Trains a model on one or more ranks.");
//   options.option("ranks", "1", "processes").choice("model", {"mlp"}, "mlp", "what to train");
//   const Arguments arguments = options.parse(argc, argv);
//   if (arguments.asks_help()) { std::cout << options.help(); return 0; }
//   const auto ranks = arguments.integer("ranks", 1);
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

// What a command line said. Every getter names an option that was declared (ContractError if not).
class Arguments {
 public:
  bool asks_help() const { return flag("help"); }
  bool flag(const std::string& name) const;
  bool given(const std::string& name) const;              // typed, not merely defaulted
  const std::string& get(const std::string& name) const;  // as typed, or the default
  // Throws UsageError when the text is no number of that kind or below `at_least`.
  std::int64_t integer(const std::string& name,
                       std::int64_t at_least = std::numeric_limits<std::int64_t>::min()) const;
  double number(const std::string& name,
                double at_least = -std::numeric_limits<double>::infinity()) const;

  // All values of an option that may be given several times, in order.
  const std::vector<std::string>& list(const std::string& name) const { return find(name).all; }

  const std::vector<std::string>& words() const { return words_; }  // without dashes
  const std::vector<std::string>& rest() const { return rest_; }    // what stands after "--"

 private:
  friend class Options;
  struct Value {
    std::string text;
    bool given = false;
    std::vector<std::string> all = {};
  };
  const Value& find(const std::string& name) const;
  std::map<std::string, Value> values_;
  std::vector<std::string> words_;
  std::vector<std::string> rest_;
};

class Options {
 public:
  // `program` as a person types it ("lab train"), `purpose` one sentence. --help is always there.
  Options(std::string program, std::string purpose);

  Options& flag(const std::string& name, const std::string& help);
  // An option with a value; an empty fallback means there is no default.
  Options& option(const std::string& name, const std::string& fallback, const std::string& help);
  // One of `choices`; with an empty fallback, none of them when it is not given.
  Options& choice(const std::string& name, std::vector<std::string> choices,
                  const std::string& fallback, const std::string& help);
  // An option with a value that may be given several times.
  Options& list(const std::string& name, const std::string& help);
  // Allows words without dashes; without this line one is a UsageError.
  Options& words(const std::string& placeholder, const std::string& help);
  // Allows "-- anything"; without this line "--" is a UsageError.
  Options& rest(const std::string& placeholder, const std::string& help);

  //   argv[0] is skipped, as main gets it; `--name value` and `--name=value` are the same
  //   Throws  UsageError for an unknown option (with the nearest name), a missing value, a value
  //           that is not among the choices, a word where none is expected
  Arguments parse(int argc, const char* const* argv) const;
  std::string help() const;

 private:
  struct Option {
    enum class Kind : std::uint8_t { flag, value, values } kind;
    std::string name, fallback, help;
    std::vector<std::string> choices;
  };
  struct Extra {
    std::string placeholder, help;
  };
  [[noreturn]] void refuse_unknown(const std::string& typed) const;

  std::string program_, purpose_;
  std::vector<Option> options_;
  Extra words_, rest_;
};

}  // namespace lockstep
