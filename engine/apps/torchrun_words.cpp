// The names are those of torch/distributed/run.py; each is read with dashes or underscores there.
#include "engine/apps/torchrun_words.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "engine/base/error.hpp"

namespace lockstep::apps {
namespace {

constexpr const char* nothing_to_choose = "there is nothing to choose here: leave it out";
constexpr const char* use_log_dir =
    "pass --log-dir DIR: each rank's output goes into files there, and is printed as well";
constexpr const char* of_module = "type it after --: ./lab run --ranks 2 -- python3 -m MODULE";

struct Foreign {
  const char* name;
  const char* answer;
};
constexpr std::array foreign_options{
    Foreign{"--master-addr",
            "the launchers meet at an address of node 0: pass --rdzv-endpoint HOST:PORT on every "
            "node, and leave it out on a single one"},
    Foreign{"--rdzv-conf",
            "the time to wait for MIN nodes is --rdzv-timeout SECONDS, and for more --last-call "
            "SECONDS"},
    Foreign{"--tee", use_log_dir},
    Foreign{"-t", use_log_dir},
    Foreign{"--redirects", use_log_dir},
    Foreign{"-r", use_log_dir},
    Foreign{"--local-ranks-filter",
            "pass --prefix none, or --log-dir DIR and read one rank's file"},
    Foreign{"--module", of_module},
    Foreign{"-m", of_module},
    Foreign{"--role", nothing_to_choose},
    Foreign{"--monitor-interval", "the end of a rank is seen at once: leave it out"},
    Foreign{"--start-method", nothing_to_choose},
    Foreign{"--run-path", nothing_to_choose}};
// Flags that ask for what is always so here.
constexpr std::array said_already{"--standalone", "--no-python", "--use-env"};

bool is_one_of(const std::string& word, const auto& all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

// "--nproc_per_node" → "--nproc-per-node".
std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool is_of_torchrun(const std::string& name) {
  return name == "--nproc-per-node" || name == "--rdzv-backend" || name == "--ranks" ||
         std::ranges::any_of(foreign_options,
                             [&](const Foreign& foreign) { return name == foreign.name; });
}

void refuse_count(const std::string& option, const std::string& count) {
  if (count != "auto" && count != "gpu" && count != "cpu") return;
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  throw UsageError(text(option, " ", count, ": ranks are not counted for you; say how many. This ",
                        "machine has ", processors, " processors (nproc says so): pass --ranks ",
                        processors, ", or one rank for each GPU with --backend nccl"));
}

// One option and its value, in our words; nothing if it says nothing here.
std::vector<std::string> translated(const std::string& typed, const std::string& name,
                                    const std::string& value) {
  for (const Foreign& foreign : foreign_options) {
    if (name != foreign.name) continue;
    throw UsageError(text(typed, " is an option of torchrun; ", foreign.answer));
  }
  if (name == "--rdzv-backend") {
    if (value == "c10d" || value == "static" || value.empty()) return {};
    throw UsageError(text(typed, " ", value, ": the launchers meet over TCP, as with torchrun's ",
                          "c10d; leave it out and pass --rdzv-endpoint HOST:PORT"));
  }
  const std::string ours = name == "--nproc-per-node" ? "--ranks" : name;
  if (ours == "--ranks") refuse_count(typed, value);
  if (value.empty()) return {ours};
  return {ours + "=" + value};
}

}  // namespace

std::vector<std::string> in_our_words(const std::vector<std::string>& typed,
                                      const Options& options) {
  const std::vector<std::string> known = options.names();
  std::vector<std::string> words;
  bool value_may_follow = false;
  std::size_t at = 0;
  for (; at < typed.size() && typed[at] != "--"; ++at) {
    const std::string& word = typed[at];
    if (!word.starts_with("-") && !value_may_follow) break;  // a program, without -- before it
    const std::size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    const std::string name = with_dashes(option);
    if (is_one_of(name, said_already)) continue;
    if (!word.starts_with("--") && word != "-m" && word != "-t" && word != "-r") {
      words.push_back(word);
      value_may_follow = false;
      continue;
    }
    if (!is_of_torchrun(name) && !(option != name && is_one_of(name.substr(2), known))) {
      words.push_back(word);
      value_may_follow = equals == word.npos;
      continue;
    }
    std::string value = equals == word.npos ? "" : word.substr(equals + 1);
    const bool next =
        equals == word.npos && at + 1 < typed.size() && !typed[at + 1].starts_with("-");
    if (next) value = typed[++at];
    for (const std::string& one : translated(option, name, value)) words.push_back(one);
    value_may_follow = false;
  }
  words.insert(words.end(), typed.begin() + static_cast<std::ptrdiff_t>(at), typed.end());
  return words;
}

}  // namespace lockstep::apps
