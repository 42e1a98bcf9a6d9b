#include "engine/data/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/data/batch.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_corpus(const std::string& path, const std::string& problem) {
  throw UsageError(
      text("'", path, "' ", problem, "; name a text file, or a folder with files *.md in it"));
}

std::vector<fs::path> files_of(const std::string& path) {
  std::vector<fs::path> files;
  try {
    if (!fs::exists(path)) refuse_corpus(path, "is not there");
    if (!fs::is_directory(path)) return {path};
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && entry.path().extension() == ".md") files.push_back(entry);
    }
  } catch (const fs::filesystem_error& error) {
    refuse_corpus(path, "cannot be read: " + error.code().message());
  }
  if (files.empty()) refuse_corpus(path, "has no file *.md below it");
  std::sort(files.begin(), files.end());
  return files;
}

// The whole content. A pipe or a device says nothing of its length, and /dev/zero never ends.
void append_content(const fs::path& file, std::string& all) {
  constexpr std::size_t unknown_bytes_max = std::size_t{1} << 30;
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse_corpus(file.string(), "cannot be opened");
  const std::size_t most =
      fs::is_regular_file(file) ? all.max_size() : all.size() + unknown_bytes_max;
  std::vector<char> part(1 << 16);
  while (in.read(part.data(), std::ssize(part)), in.gcount() > 0) {
    all.append(part.data(), static_cast<std::size_t>(in.gcount()));
    if (all.size() > most) {
      refuse_corpus(file.string(), "is no file, and has not ended after 1 GiB");
    }
  }
  if (in.bad()) refuse_corpus(file.string(), "cannot be read to its end");
}

class Text final : public Dataset {
 public:
  Text(std::vector<std::int64_t> tokens, std::int64_t vocabulary, std::int64_t sequence,
       std::int64_t stride)
      : tokens_(std::move(tokens)), vocabulary_(vocabulary), sequence_(sequence), stride_(stride) {}

  std::int64_t size() const override { return (std::ssize(tokens_) - 1 - sequence_) / stride_ + 1; }
  std::int64_t inputs() const override { return sequence_; }
  std::int64_t labels() const override { return sequence_; }
  std::int64_t classes() const override { return vocabulary_; }

  Batch batch(std::span<const std::int64_t> indices, DType, Device& device) const override {
    const Shape shape{std::ssize(indices), sequence_};
    Device& here = device.host();
    const Batch made{empty(shape, DType::int64, here), empty(shape, DType::int64, here)};
    auto input = made.inputs.data<std::int64_t>().begin();
    auto label = made.labels.data<std::int64_t>().begin();
    for (const std::int64_t index : indices) {
      LOCKSTEP_CHECK(index >= 0 && index < size(), "batch: sample ", index, " of a dataset of ",
                     size(), "; indices come from distributed_indices with its length");
      const auto from = tokens_.begin() + index * stride_;
      input = std::copy_n(from, sequence_, input);
      label = std::copy_n(from + 1, sequence_, label);
    }
    return to_device(made, device);
  }

 private:
  std::vector<std::int64_t> tokens_;  // never changed, so that strands may share it
  std::int64_t vocabulary_, sequence_, stride_;
};

}  // namespace

std::string read_text(const std::vector<std::string>& paths) {
  std::string all;
  for (const std::string& path : paths) {
    for (const fs::path& file : files_of(path)) {
      append_content(file, all);
      if (!all.empty() && all.back() != '\n') all += '\n';
    }
  }
  return all;
}

std::vector<std::string> course_texts(const std::string& root) {
  return {root + "/lessons", root + "/exercises", root + "/docs"};
}

std::string part_of(std::string_view text, Split split) {
  constexpr std::size_t block_bytes = 2000, blocks = 10;
  const std::size_t block = std::clamp<std::size_t>(text.size() / blocks, 1, block_bytes);
  std::string train, test;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = text.find('\n', begin);
    const std::size_t end = newline == std::string_view::npos ? text.size() : newline + 1;
    (begin / block % blocks == blocks - 1 ? test : train) += text.substr(begin, end - begin);
    begin = end;
  }
  if (test.empty()) {
    const std::size_t cut = text.size() - text.size() / blocks;
    train = text.substr(0, cut);
    test = text.substr(cut);
  }
  return split == Split::train ? train : test;
}

std::unique_ptr<Dataset> make_text(std::string_view text, const Tokenizer& tokenizer,
                                   std::int64_t sequence, std::int64_t stride) {
  LOCKSTEP_CHECK(sequence >= 1 && stride >= 1, "make_text: sequences of ", sequence,
                 " tokens, one every ", stride, "; both are at least 1");
  std::vector<std::int64_t> tokens = tokenizer.encode(text);
  if (std::ssize(tokens) <= sequence) {
    throw UsageError(lockstep::text("the text has ", tokens.size(), " tokens (", text.size(),
                                    " bytes, tokenizer '", tokenizer.name(), "'); a sequence of ",
                                    sequence, " and the token that follows it need ",
                                    static_cast<std::uint64_t>(sequence) + 1,
                                    ": give a longer text or ask for shorter sequences"));
  }
  return std::make_unique<Text>(std::move(tokens), tokenizer.vocabulary(), sequence, stride);
}

}  // namespace lockstep::data
