// A program's command line, declared once: names, defaults and help stand together by section, and
// so does what does not combine. Every mistake becomes one UsageError that says what was typed and
// what was probably meant.
//
//   Options options("train", "Trains a model on one or more ranks.");
//   options.section("what to train").choice("model", {"mlp", "gpt"}, "mlp", "which model");
//   options.section("language model", "--model gpt").option("layers", "4", "number of blocks");
//   options.section("run").option("epochs", "3", "passes over the data")
//       .option("steps", "", "number of steps")
//       .exclude({"epochs", "steps"}, "both say when to stop; pass only one");
//   const Arguments arguments = options.parse(argc, argv);
//   if (arguments.asks_help()) { std::cout << options.help(); return 0; }
//   const auto ranks = arguments.integer("ranks", 1);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

// The ranks of one run must have an option alike: its value, its presence, or nothing of it.
enum class Shared : std::uint8_t { value, presence, nothing };

// The arguments of a command line. Every getter names an option that was declared (ContractError if
// not).
class Arguments {
 public:
  bool asks_help() const { return flag("help"); }
  bool flag(const std::string& name) const;
  bool given(const std::string& name) const;     // typed, not merely defaulted
  bool declared(const std::string& name) const;  // whether the program has the option
  Shared shared(const std::string& name) const { return find(name).shared; }
  const std::string& get(const std::string& name) const;  // as typed, or the default
  // get(), or the value that follows from other options (Options::otherwise); lists in one line.
  std::string value(const std::string& name) const;
  // Both read value(), and throw UsageError when the text is no number of that kind or below
  // `at_least`.
  std::int64_t integer(const std::string& name,
                       std::int64_t at_least = std::numeric_limits<std::int64_t>::min()) const;
  double number(const std::string& name,
                double at_least = -std::numeric_limits<double>::infinity()) const;

  // True if the run has a setting, written as a person types it: "--model gpt" is this value, typed
  // or by default; "--compress topk:" is any value that begins so; "--workers" is any value but the
  // default.
  bool has(const std::string& setting) const;

  // All values of an option that may be given several times, in order.
  const std::vector<std::string>& list(const std::string& name) const { return find(name).all; }

  const std::vector<std::string>& words() const { return words_; }  // without dashes
  const std::vector<std::string>& rest() const { return rest_; }    // what stands after "--"

  // The options that were typed, in order, each with the words that say it again.
  struct Typed {
    std::string name;
    std::vector<std::string> words;
  };
  const std::vector<Typed>& typed() const { return typed_; }

  // The same arguments, and an option as if `value` had been typed for it. typed() stays.
  Arguments with(const std::string& name, const std::string& value) const;

 private:
  friend class Options;
  struct Value {
    std::string text, fallback;
    std::function<std::string(const Arguments&)> otherwise = nullptr;
    Shared shared = Shared::value;
    bool given = false;
    std::vector<std::string> all = {};
  };
  const Value& find(const std::string& name) const;
  std::map<std::string, Value> values_;
  std::vector<Typed> typed_;
  std::vector<std::string> words_;
  std::vector<std::string> rest_;
};

class Options {
 public:
  // `program` as a person types it ("lab train"), `purpose` one sentence. --help is always there.
  Options(std::string program, std::string purpose);

  // Puts the options that are declared from here on under this heading in the help. The heading of
  // the open section continues it.
  Options& section(const std::string& title);
  // The same, and these options mean something only in runs that have `setting` (Arguments::has).
  Options& section(const std::string& title, const std::string& setting);

  Options& flag(const std::string& name, const std::string& help);
  // A flag that may be typed with one of `choices` behind it, which is then its text; else "true".
  Options& flag(const std::string& name, std::vector<std::string> choices, const std::string& help);
  // An option with a value; an empty fallback means there is no default.
  Options& option(const std::string& name, const std::string& fallback, const std::string& help);
  // One of `choices`; with an empty fallback, none of them when it is not given.
  Options& choice(const std::string& name, std::vector<std::string> choices,
                  const std::string& fallback, const std::string& help);
  // Another word for a choice of the option declared last. It is refused, too, but with this choice
  // proposed instead of the nearest one.
  //   why  behind the refusal, in place of the list of choices: "is not built in"
  Options& alias(const std::string& word, const std::string& choice, const std::string& why = "");
  // Gives the option declared last a value where it is not typed, which follows from other options.
  Options& otherwise(std::function<std::string(const Arguments&)> value);
  // Says how ranks share the option declared last; without this line, its value.
  Options& shared(Shared what);
  // An option with a value that may be given several times.
  Options& list(const std::string& name, const std::string& help);
  // Allows words without dashes; without this line one is a UsageError.
  Options& words(const std::string& placeholder, const std::string& help);
  // Allows "-- anything"; without this line "--" is a UsageError.
  Options& rest(const std::string& placeholder, const std::string& help);

  // An option that means nothing in this run is a mistake, not a wish to be ignored. What does not
  // combine is declared here, beside the options, and refused when one of `names` is given:
  //   only_with  in a run without `setting`: "--layers belongs to --model gpt; leave it out"
  //   only_if    in a run of which `applies` is false: "--" + the name + " " + `why`
  //   exclude    when another of `names` is given too: "--epochs and --steps " + `why`
  using Condition = std::function<bool(const Arguments&)>;
  Options& only_with(std::vector<std::string> names, const std::string& setting);
  Options& only_if(std::vector<std::string> names, std::string why, Condition applies);
  Options& exclude(std::vector<std::string> names, std::string why);

  //   argv[0] is skipped, as main gets it; `--name value` and `--name=value` are the same
  //   Throws  UsageError for an unknown option (with the nearest name), a missing value, a value
  //           that is not among the choices, a word where none is expected, and for options that
  //           do not combine, unless help is asked for
  Arguments parse(int argc, const char* const* argv) const;
  // The same for a part of a command line: what does not combine is not looked at.
  Arguments read(int argc, const char* const* argv) const;
  std::string help() const;
  std::vector<std::string> names() const;  // of all options, in the order of their declaration

 private:
  struct Alias {
    std::string choice, why;
  };
  struct Option {
    enum class Kind : std::uint8_t { flag, value, values } kind;
    std::string name, fallback, help;
    std::vector<std::string> choices;
    std::size_t section;
    std::map<std::string, Alias> aliases = {};
    std::function<std::string(const Arguments&)> otherwise = nullptr;
    Shared shared = Shared::value;
  };
  struct Section {
    std::string title;
    std::size_t rule;  // that its options are under; no_rule for none
  };
  // Without a condition, at most one of the names may be given.
  struct Rule {
    std::vector<std::string> names;
    std::string why;
    Condition applies;
  };
  struct Extra {
    std::string placeholder, help;
  };
  Options& declare(Option option);
  [[noreturn]] void refuse_unknown(const std::string& typed) const;
  void refuse_missing_value(const std::string& last) const;
  std::vector<std::string> with_values_of_flags(std::vector<std::string> words) const;
  void check(const Arguments& arguments) const;

  static constexpr std::size_t no_rule = std::numeric_limits<std::size_t>::max();
  std::string program_, purpose_;
  std::vector<Option> options_;
  std::vector<Section> sections_{{"", no_rule}};
  std::vector<Rule> rules_;
  Extra words_, rest_;
};

}  // namespace lockstep
