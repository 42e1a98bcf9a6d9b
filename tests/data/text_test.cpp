// Text as a dataset: where sequences begin, what follows them, and what is read from a disk.
#include "engine/data/text.hpp"

#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/checkpoint/folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

std::vector<std::int64_t> values_of(const Tensor& tensor) {
  const auto values = tensor.data<std::int64_t>();
  return {values.begin(), values.end()};
}

void write(const fs::path& file, const std::string& content) {
  fs::create_directories(file.parent_path());
  test::put(file, content);
}

}  // namespace

TEST_CASE("text: sample i begins at i·T, and labels are the tokens that follow") {
  CpuDevice device;
  const auto bytes = data::make_byte_tokenizer();
  const auto dataset = data::make_text("abcdefgh", *bytes, 3, 3);
  CHECK(dataset->size() == 2);  // g h have no third; the h after the second is its last label
  CHECK(dataset->inputs() == 3);
  CHECK(dataset->classes() == 256);
  const auto batch = dataset->batch(std::array<std::int64_t, 3>{1, 0, 1}, DType::float32, device);
  CHECK(batch.inputs.shape() == Shape{3, 3});
  CHECK(batch.labels.shape() == Shape{3, 3});
  CHECK(bytes->decode(values_of(batch.inputs)) == "defabcdef");
  CHECK(bytes->decode(values_of(batch.labels)) == "efgbcdefg");
  CHECK(dataset->batch({}, DType::float32, device).inputs.shape() == Shape{0, 3});
}

TEST_CASE("text: as many samples as have a token after them") {
  const auto bytes = data::make_byte_tokenizer();
  CHECK(data::make_text("abcd", *bytes, 3, 3)->size() == 1);
  CHECK(data::make_text("abcdef", *bytes, 3, 3)->size() == 1);
  CHECK(data::make_text("abcdefg", *bytes, 3, 3)->size() == 2);
  CHECK(data::make_text("ab", *bytes, 1, 1)->size() == 1);
}

TEST_CASE("text: indices outside and texts that are too short are refused") {
  CpuDevice device;
  const auto bytes = data::make_byte_tokenizer();
  const auto dataset = data::make_text("abcdefgh", *bytes, 3, 3);
  for (const std::int64_t index : {-1, 2}) {
    CHECK_THROWS_AS(dataset->batch(std::array{index}, DType::float32, device), ContractError);
  }
  CHECK_THROWS_WITH(data::make_text("abc", *bytes, 3, 3), test::contains("3 tokens") &&
                                                              test::contains("need 4") &&
                                                              test::contains("longer text"));
  CHECK_THROWS_AS(data::make_text("", *bytes, 1, 1), UsageError);
  CHECK_THROWS_WITH(data::make_text("abc", *bytes, INT64_MAX, 3),
                    test::contains("need 9223372036854775808"));
  CHECK_THROWS_AS(data::make_text("abc", *bytes, 0, 1), ContractError);
}

TEST_CASE("text: the tokenizer decides what a token is") {
  CpuDevice device;
  const auto bpe = data::read_tokenizer("lockstep-tokenizer 1 bpe 1\n97 98\n");
  const auto dataset = data::make_text("abcab", *bpe, 2, 2);
  CHECK(dataset->classes() == 257);
  const auto batch = dataset->batch(std::array<std::int64_t, 1>{0}, DType::float32, device);
  CHECK(values_of(batch.inputs) == std::vector<std::int64_t>{256, 99});
  CHECK(values_of(batch.labels) == std::vector<std::int64_t>{99, 256});
}

TEST_CASE("text: samples begin every stride tokens, and the last one fits") {
  CpuDevice device;
  const auto bytes = data::make_byte_tokenizer();
  const auto dataset = data::make_text("abcdefgh", *bytes, 3, 2);
  REQUIRE(dataset->size() == 3);  // from a, c and e; one from g would need more
  const auto batch = dataset->batch(std::array<std::int64_t, 2>{2, 1}, DType::float32, device);
  CHECK(values_of(batch.inputs) == std::vector<std::int64_t>{'e', 'f', 'g', 'c', 'd', 'e'});
  CHECK(values_of(batch.labels) == std::vector<std::int64_t>{'f', 'g', 'h', 'd', 'e', 'f'});
  CHECK(data::make_text("abcdefgh", *bytes, 3, 1)->size() == 5);
  CHECK(data::make_text("abcdefgh", *bytes, 7, 100)->size() == 1);
  CHECK_THROWS_AS(data::make_text("abcdefgh", *bytes, 3, 0), ContractError);
}

TEST_CASE("text: every tenth block of lines is the test, and no line is lost or in both") {
  std::string text;
  for (int line = 0; line < 7000; ++line) text += "line " + std::to_string(line) + "\n";
  const auto train = data::part_of(text, data::Split::train);
  const auto test = data::part_of(text, data::Split::test);
  CHECK(train.size() + test.size() == text.size());
  // Three whole blocks of 2,000 bytes, give or take a line of 10 bytes at each end.
  CHECK(std::abs(static_cast<double>(test.size()) - 3 * 2000) < 3 * 20);
  const auto lines = [](const std::string& part) {
    std::set<std::string> found;
    std::istringstream in(part);
    for (std::string line; std::getline(in, line);) found.insert(line);
    return found;
  };
  auto all = lines(train);
  const auto of_test = lines(test);
  CHECK(all.size() + of_test.size() == 7000);
  all.insert(of_test.begin(), of_test.end());
  CHECK(all.size() == 7000);
}

TEST_CASE("text: a text of few lines, or of one, still has something to test on") {
  CHECK(data::part_of(std::string(20, 'x'), data::Split::test).size() == 2);
  const std::string line = std::string(19, 'x').append(1, '\n');
  CHECK(data::part_of(line, data::Split::train).size() == 18);
  CHECK(data::part_of("x", data::Split::train) == "x");
  CHECK(data::part_of("", data::Split::train).empty());
  CHECK(data::part_of("", data::Split::test).empty());
  CHECK(data::part_of("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", data::Split::test) == "j\n");
}

TEST_CASE("text: a folder stands for the .md files below it, in the order of their paths") {
  const test::Folder folder;
  write(folder / "b.md", "second");
  write(folder / "a/z.md", "first\n");
  write(folder / "c.txt", "not read");
  CHECK(data::read_text({folder.path().string()}) == "first\nsecond\n");
  CHECK(data::read_text({(folder / "c.txt").string(), (folder / "b.md").string()}) ==
        "not read\nsecond\n");
  CHECK(data::read_text({}).empty());
}

TEST_CASE("text: a path without text is named, and what to name instead") {
  const test::Folder folder;
  CHECK_THROWS_WITH(data::read_text({folder.path().string()}),
                    test::contains("no file *.md") && test::contains("name a text file"));
  CHECK_THROWS_WITH(data::read_text({(folder / "gone").string()}),
                    test::contains("gone' is not there"));
  // A file that opens and cannot be read: no memory lies at its beginning.
  CHECK_THROWS_AS(data::read_text({"/proc/self/mem"}), UsageError);
}

TEST_CASE("text: several strands read batches of one dataset at once") {
  const auto bytes = data::make_byte_tokenizer();
  const std::string text(4001, 'q');
  const auto dataset = data::make_text(text, *bytes, 40, 40);
  std::array<int, 4> right{};
  std::vector<std::jthread> threads;
  for (int& mine : right) {
    threads.emplace_back([&] {
      CpuDevice device;
      for (std::int64_t i = 0; i < dataset->size(); ++i) {
        const auto batch = dataset->batch(std::array{i}, DType::float32, device);
        mine += values_of(batch.labels) == std::vector<std::int64_t>(40, 'q') ? 1 : 0;
      }
    });
  }
  threads.clear();
  CHECK(right == std::array{100, 100, 100, 100});
}
