// Reads a cluster's TOML file. Every key of a section is listed where the section is read; what is
// not in such a list is refused, since a key with a typing error would leave its value to chance.
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "engine/sim/model/cluster.hpp"

namespace lockstep::sim {

namespace {

// The range of a number, in words and with a value to type.
struct Range {
  const char* is;
  double least;
  bool least_included;
  double most;
  const char* example;
};
constexpr double endless = HUGE_VAL;
constexpr Range seconds{"a number of seconds, 0 or more", 0, true, endless, "2e-6"};
constexpr Range rate{"a positive number of bytes per second", 0, false, endless, "25e9"};
constexpr Range flops{"a positive number of operations per second", 0, false, endless, "19.5e12"};
constexpr Range bytes{"a positive number of bytes", 0, false, endless, "80e9"};
constexpr Range part{"a fraction above 0, at most 1", 0, false, 1, "0.8"};
constexpr Range amount{"a whole number, 1 or more", 1, true, 1e6, "8"};

// One table of the file.
class Section {
 public:
  Section(const toml::table& table, std::string name, const std::string& file)
      : table_(table), name_(std::move(name)), file_(file) {}

  double number(const std::string& key, const Range& range) {
    const toml::node* node = find(key);
    if (node == nullptr) refuse_missing(key, range.is, range.example);
    const auto value = node->value<double>();
    const bool whole = !value || std::trunc(*value) == *value;
    const bool fits = value && !node->is_boolean() && *value <= range.most && *value < endless &&
                      (range.least_included ? *value >= range.least : *value > range.least) &&
                      (&range != &amount || whole);
    if (!fits) refuse(*node, key, range.is, range.example);
    return *value;
  }
  double number_or(const std::string& key, const Range& range, double otherwise) {
    return find(key) == nullptr ? otherwise : number(key, range);
  }
  std::string line_of_text(const std::string& key, const char* example) {
    constexpr const char* is = "one line of text";
    const toml::node* node = find(key);
    if (node == nullptr) refuse_missing(key, is, example);
    const auto value = node->value<std::string>();
    if (!value || value->empty() || value->find('\n') != std::string::npos) {
      refuse(*node, key, is, example);
    }
    return *value;
  }
  template <typename Name, std::size_t n>
  Name name(const std::string& key, const std::array<Name, n>& all) {
    const std::vector<std::string> known = names_of(all);
    const std::string is = "one of " + joined(known), example = "\"" + known.front() + "\"";
    const toml::node* node = find(key);
    if (node == nullptr) refuse_missing(key, is, example);
    const auto at = std::find(known.begin(), known.end(), node->value_or(std::string()));
    if (at == known.end()) refuse(*node, key, is, example);
    return all[static_cast<std::size_t>(at - known.begin())];
  }
  // A list of names, of which `all` is the whole; as it was when there is no such key.
  template <typename Name, std::size_t n>
  void names(const std::string& key, const std::array<Name, n>& all, std::vector<Name>& into) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const std::vector<std::string> known = names_of(all);
    const std::string is = "a list of names, one or more of " + joined(known);
    const std::string example = "[\"" + known.front() + "\"]";
    const toml::array* list = node->as_array();
    if (list == nullptr || list->empty()) refuse(*node, key, is, example);
    into.clear();
    for (const auto& entry : *list) {
      const auto at = std::find(known.begin(), known.end(), entry.value_or(std::string()));
      if (at == known.end()) refuse(entry, key, is, example);
      into.push_back(all[static_cast<std::size_t>(at - known.begin())]);
    }
  }
  Section section(const std::string& key) {
    const toml::node* node = find(key);
    const std::string name = name_.empty() ? key : name_ + "." + key;
    if (node == nullptr) {
      throw UsageError(text(file_, ": there is no section [", name, "]; every cluster needs one"));
    }
    if (!node->is_table()) refuse(*node, key, "a section", text("[", name, "]"));
    return {*node->as_table(), name, file_};
  }

  void refuse_others() const {
    for (const auto& [key, value] : table_) {
      const std::string name(key.str());
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      throw UsageError(text(place(value), "there is no key '", name, "' in ",
                            name_.empty() ? "a cluster" : text("[", name_, "]"),
                            did_you_mean(name, known_), " (the keys are: ", joined(known_), ")"));
    }
  }
  std::optional<Section> optional_section(const std::string& key) {
    if (table_.contains(key)) return section(key);
    known_.push_back(key);
    return std::nullopt;
  }
  [[noreturn]] void refuse(const toml::node& node, const std::string& key, const std::string& is,
                           const std::string& example) const {
    std::ostringstream seen;
    node.visit([&](const auto& value) { seen << value; });
    throw UsageError(text(place(node), of(key), " is ", seen.str(), "; expected ", is,
                          ", as in: ", key, " = ", example));
  }
  const toml::node& at(const std::string& key) const { return *table_.get(key); }

 private:
  const toml::node* find(const std::string& key) {
    known_.push_back(key);
    return table_.get(key);
  }
  std::string of(const std::string& key) const { return (name_.empty() ? "" : name_ + ".") + key; }
  std::string place(const toml::node& node) const {
    return text(file_, ":", node.source().begin.line, ": ");
  }
  [[noreturn]] void refuse_missing(const std::string& key, const std::string& is,
                                   const std::string& example) const {
    throw UsageError(text(file_, ": ", of(key), " is missing; it must be ", is, ", as in: ", key,
                          " = ", example, name_.empty() ? "" : text(" under [", name_, "]")));
  }
  template <typename Name, std::size_t n>
  static std::vector<std::string> names_of(const std::array<Name, n>& all) {
    std::vector<std::string> names;
    for (const Name name : all) names.emplace_back(name_of(name));
    return names;
  }
  static std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

  const toml::table& table_;
  std::string name_;
  const std::string& file_;
  std::vector<std::string> known_;
};

Link link_of(Section& section) {
  Link link;
  link.latency_s = section.number("latency_s", seconds);
  link.gap_s = section.number("gap_s", seconds);
  link.bandwidth_bytes_s = section.number("bandwidth_bytes_s", rate);
  return link;
}

Choices choices_of(Section& section, const std::string& where) {
  Choices choices;
  section.names("algorithms_" + where, all_algorithms, choices.algorithms);
  section.names("protocols_" + where, all_protocols, choices.protocols);
  return choices;
}

Library library_of(Section& section) {
  Library library;
  library.wire = section.name("wire", all_wires);
  library.start_s = section.number("start_s", seconds);
  library.network_step_s = section.number_or("network_step_s", seconds, 0);
  library.port_achieved = section.number("port_achieved", part);
  library.card_achieved = section.number_or("card_achieved", part, 1);
  library.in_switch_achieved = section.number_or("in_switch_achieved", part, 0);
  library.ll_within_bytes_s = section.number("ll_within_bytes_s", rate);
  library.ll_between_bytes_s =
      section.number_or("ll_between_bytes_s", rate, library.ll_within_bytes_s);
  library.within = choices_of(section, "within");
  library.between = choices_of(section, "between");
  section.refuse_others();
  return library;
}

Network network_of(Section& root) {
  Network network;
  Section within = root.section("within");
  const Link link = link_of(within);
  within.refuse_others();
  network.latency_s = link.latency_s;
  network.gap_s = link.gap_s;
  network.bandwidth_bytes_s = link.bandwidth_bytes_s;
  if (auto library = root.optional_section("library")) network.library = library_of(*library);
  network.ranks_per_node = static_cast<int>(root.number_or("ranks_per_node", amount, 0));
  if (network.ranks_per_node == 0) return network;
  Section between = root.section("between");
  network.between = link_of(between);
  network.cards_per_node = static_cast<int>(between.number_or("cards_per_node", amount, 0));
  if (network.cards_per_node > network.ranks_per_node) {
    between.refuse(between.at("cards_per_node"), "cards_per_node",
                   "at most one card per rank of a node", std::to_string(network.ranks_per_node));
  }
  between.refuse_others();
  return network;
}

DeviceModel device_of(Section section) {
  DeviceModel device;
  device.name = section.line_of_text("name", "\"A100 SXM 80 GB\"");
  Section peaks = section.section("peak_flops_s");
  for (const DType dtype : all_dtypes) {
    const std::string name(name_of(dtype));
    auto& peak = device.peak_flops_s[static_cast<std::size_t>(dtype)];
    peak = dtype == DType::float32 ? peaks.number(name, flops) : peaks.number_or(name, flops, 0);
  }
  peaks.refuse_others();
  device.flops_achieved = section.number("flops_achieved", part);
  device.memory_bandwidth_bytes_s = section.number("memory_bandwidth_bytes_s", rate);
  device.bandwidth_achieved = section.number("bandwidth_achieved", part);
  device.memory_bytes = static_cast<std::int64_t>(section.number("memory_bytes", bytes));
  device.start_s = section.number("start_s", seconds);
  section.refuse_others();
  return device;
}

HostModel host_of(Section& section) {
  HostModel host;
  host.name = section.line_of_text("name", "\"host of a DGX A100\"");
  host.memory_bytes = static_cast<std::int64_t>(section.number("memory_bytes", bytes));
  host.memory_bandwidth_bytes_s = section.number("memory_bandwidth_bytes_s", rate);
  host.bandwidth_achieved = section.number("bandwidth_achieved", part);
  host.link_bandwidth_bytes_s = section.number("link_bandwidth_bytes_s", rate);
  host.link_achieved = section.number("link_achieved", part);
  host.link_start_s = section.number("link_start_s", seconds);
  section.refuse_others();
  return host;
}

}  // namespace

Cluster parse_cluster(std::string_view content, const std::string& file) {
  toml::table table;
  try {
    table = toml::parse(content, file);
  } catch (const toml::parse_error& error) {
    throw UsageError(text(file, ":", error.source().begin.line,
                          ": not valid TOML: ", std::string(error.description())));
  }
  Section root(table, "", file);
  Cluster cluster;
  cluster.name = root.line_of_text("name", "\"a100\"");
  cluster.about = root.line_of_text("about", "\"nodes of 8 A100 over InfiniBand\"");
  cluster.network = network_of(root);
  cluster.device = device_of(root.section("device"));
  if (auto host = root.optional_section("host")) cluster.host = host_of(*host);
  root.refuse_others();
  return cluster;
}

}  // namespace lockstep::sim
