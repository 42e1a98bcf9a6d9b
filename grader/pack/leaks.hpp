// Finds in a folder what students are to write: no six tokens in a row of a marked region of
// solutions/ may stand in a file of it, as text or among the strings of a program.
//
// Six tokens of C++ are often nobody's. Those do not count that are punctuation, keywords and names
// of the standard library alone ("> std::vector<std"), nor those that the course tells students
// anyway: in headers, lessons, tasks, hints and reports. What these tell is limited in turn: none
// of them has more than `told_max` tokens of a region in a row.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lockstep::grader {

// As a compiler divides a text; of words in comments each is one.
std::vector<std::string_view> tokens_of(std::string_view text);

// The marked regions of a source.
std::vector<std::string> marked_regions(const std::string& source);

class Shingles {
 public:
  // The token sequences of the regions of root's solutions/, without those that the course tells.
  explicit Shingles(const std::filesystem::path& root);

  // The tokens of a region that a text has, with the region's file: "" for none.
  std::string found_in(std::string_view text) const;

  // A sentence on each file of `folder` that has one. Files that are no text are searched for
  // strings.
  std::vector<std::string> found_below(const std::filesystem::path& folder) const;

  std::size_t looked_for() const { return secret_.size(); }
  std::size_t told() const { return told_; }  // left out, because the course tells them

  // The most tokens in a row that one text of the course tells of a region, and where.
  std::size_t longest_told() const { return longest_told_; }
  const std::string& told_by() const { return told_by_; }

 private:
  void leave_out(const std::filesystem::path& root);
  void told_in(std::string_view text, const std::string& file);

  std::unordered_map<std::uint64_t, std::size_t> secret_;  // a shingle, and the file it is in
  std::vector<std::string> files_;
  std::vector<std::vector<std::uint64_t>> regions_;
  std::size_t told_ = 0, longest_told_ = 0;
  std::string told_by_;
};

// Does nothing for an edition that shows nothing.
//   Throws  UsageError that names each file of `folder` that shows a reference, what it shows of
//           which solution, and the way out; the same where the course itself tells too much
void refuse_leaks(const Shingles& shingles, const std::filesystem::path& folder);

constexpr std::size_t shingle_tokens = 6;
// Lesson 05 writes out most of a training step, 58 tokens, before students write another one.
constexpr std::size_t told_max = 60;

}  // namespace lockstep::grader
