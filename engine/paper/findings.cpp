// Findings: merging, and how one reads.
#include "engine/paper/findings.hpp"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace lockstep::paper {
namespace {

std::string key_of(Kind kind, const Where& where, const std::string& sentence) {
  std::string key = std::to_string(static_cast<int>(kind)) + '\n' + where.kernel + '\n';
  if (where.kernel.empty()) return key + sentence;
  return key + where.file + '\n' + std::to_string(where.line);
}

constexpr std::string_view unnamed = "(anonymous namespace)::";

bool is_of_name(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

std::string triple(const Dim3& place) {
  return "(" + std::to_string(place.x) + "," + std::to_string(place.y) + "," +
         std::to_string(place.z) + ")";
}

// As short as a compiler says it, seen from the current folder, so that an editor opens it.
std::string short_path(const std::string& file) {
  const auto path = std::filesystem::path(file).lexically_normal();
  std::error_code unknown;
  const auto seen = path.lexically_relative(std::filesystem::current_path(unknown));
  return seen.empty() || *seen.begin() == ".." ? path.string() : seen.string();
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::out_of_bounds:
      return "out of bounds";
    case Kind::use_after_free:
      return "use after free";
    case Kind::misaligned:
      return "misaligned";
    case Kind::uninitialised:
      return "uninitialised";
    case Kind::shared_race:
      return "race in shared memory";
    case Kind::device_race:
      return "race in a block";
    case Kind::block_race:
      return "race between blocks";
    case Kind::stream_race:
      return "race between streams";
    case Kind::divergent_barrier:
      return "divergent barrier";
    case Kind::wrong_mask:
      return "wrong mask";
    case Kind::hang:
      return "hang";
    case Kind::trap:
      return "trap";
    case Kind::refused:
      return "refused";
    case Kind::limit:
      return "limit";
    case Kind::host_touch:
      return "host touches device memory";
    case Kind::leak:
      return "leak";
    case Kind::bad_call:
      return "bad call";
  }
  return "?";
}

std::string demangle(const std::string& mangled) {
  if (!mangled.starts_with("_Z")) return mangled;  // "f" alone would be the type float
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : mangled;
}

std::string kernel_name(const std::string& mangled) {
  std::string text;  // without "lockstep::gpu::"
  const std::string whole = demangle(mangled);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole.compare(i, unnamed.size(), unnamed) == 0) {
      i += unnamed.size() - 1;
    } else if (whole.compare(i, 2, "::") == 0) {
      while (!text.empty() && is_of_name(text.back())) text.pop_back();
      ++i;
    } else {
      text += whole[i];
    }
  }
  int depth = 0;
  std::size_t start = 0, end = 0;
  for (; end < text.size() && (depth > 0 || text[end] != '('); ++end) {
    depth += text[end] == '<' ? 1 : text[end] == '>' ? -1 : 0;
    if (depth == 0 && text[end] == ' ') start = end + 1;
  }
  return start < end ? text.substr(start, end - start) : whole;
}

std::string to_string(const Finding& finding) {
  std::string text(name(finding.kind));
  if (!finding.where.kernel.empty()) {
    text += " in " + finding.where.kernel;
    if (finding.where.line > 0) {
      text += " at " + short_path(finding.where.file) + ":" + std::to_string(finding.where.line);
    }
    text += ", block " + triple(finding.where.block) + ", thread " + triple(finding.where.thread);
  }
  text += ": " + finding.sentence;
  if (finding.count > 1) text += " (seen " + std::to_string(finding.count) + " times)";
  return text;
}

void Findings::add(Kind kind, const Where& where, std::string sentence) {
  const std::scoped_lock lock(mutex_);
  const auto [found, fresh] = index_.try_emplace(key_of(kind, where, sentence), findings_.size());
  if (!fresh) {
    ++findings_[found->second].count;
    return;
  }
  findings_.push_back({kind, where, std::move(sentence), 1});
}

std::vector<Finding> Findings::all() const {
  const std::scoped_lock lock(mutex_);
  return findings_;
}

std::size_t Findings::size() const {
  const std::scoped_lock lock(mutex_);
  return findings_.size();
}

void Findings::clear() {
  const std::scoped_lock lock(mutex_);
  findings_.clear();
  index_.clear();
}

std::string Findings::report() const {
  std::string text;
  for (const Finding& finding : all()) text += to_string(finding) + "\n";
  return text;
}

}  // namespace lockstep::paper
