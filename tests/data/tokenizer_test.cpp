// Tokenizers: everything comes back, and byte pairs are those that can be counted by hand.
#include "engine/data/tokenizer.hpp"

#include <array>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using Tokens = std::vector<std::int64_t>;

namespace {

// Bytes of every value, and of the kind that texts have: few letters, many repeats.
std::string random_bytes(std::size_t count, std::uint64_t values, std::uint64_t seed) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(static_cast<char>(random_bits(seed, i) % values + (values < 256 ? 'a' : 0)));
  }
  return result;
}

const std::string words =
    "low low low low low lower lower newest newest newest newest newest "
    "newest widest widest widest\n";

}  // namespace

TEST_CASE("tokenizer: bytes are their own numbers") {
  const auto bytes = data::make_byte_tokenizer();
  CHECK(bytes->vocabulary() == 256);
  CHECK(bytes->encode("a\n\xFF") == Tokens{97, 10, 255});
  CHECK(bytes->decode(Tokens{97, 10, 255}) == "a\n\xFF");
  CHECK(bytes->encode("").empty());
}

TEST_CASE("tokenizer: every byte string comes back from encode and decode") {
  const auto learnt_from =
      GENERATE(as<std::string>{}, words, random_bytes(2000, 3, 1), random_bytes(2000, 256, 2));
  const auto bpe = data::train_bpe(learnt_from, 50), bytes = data::make_byte_tokenizer();
  for (const std::string& text :
       {std::string(), words, random_bytes(500, 2, 3), random_bytes(500, 256, 4), learnt_from,
        std::string("\0 \0  \n\n x", 9), std::string("größer, naïve; 12345"), std::string(300, ' '),
        std::string("\xFF\xFE half a letter: \xC3")}) {
    CHECK(bytes->decode(bytes->encode(text)) == text);
    CHECK(bpe->decode(bpe->encode(text)) == text);
    for (const std::int64_t token : bpe->encode(text)) {
      CHECK((token >= 0 && token < bpe->vocabulary()));
    }
  }
}

TEST_CASE("tokenizer: the most frequent pair is merged first, and ties go to the smaller tokens") {
  // low stands 5 times, lower 2, newest 6, widest 3. So e s and s t are there 9 times, and e is the
  // smaller left token; then (es) t, 9 times; then l o and o w, 7 times each, w e only in lower.
  const auto bpe = data::train_bpe(words, 3);
  CHECK(bpe->description() ==
        "lockstep-tokenizer 1 bpe 3\n"
        "101 115\n"
        "256 116\n"
        "108 111\n");
}

TEST_CASE("tokenizer: merges are applied in the order in which they were learnt") {
  // b c is known first, so a b c is a (bc) although (a b) comes first in the text, and b c d is
  // (bc) d although (c d) comes last.
  const auto bpe =
      data::read_tokenizer("lockstep-tokenizer 1 bpe 4\n98 99\n97 98\n97 256\n99 100\n");
  CHECK(bpe->encode("abc") == Tokens{258});
  CHECK(bpe->encode("ab") == Tokens{257});
  CHECK(bpe->encode("abab") == Tokens{257, 257});
  CHECK(bpe->encode("bcbc") == Tokens{256, 256});
  CHECK(bpe->encode("bcd") == Tokens{256, 100});
}

TEST_CASE("tokenizer: equal letters merge from the left") {
  const auto bpe = data::train_bpe("aaa aaa", 1);
  CHECK(bpe->encode("aaa") == Tokens{256, 97});
  CHECK(bpe->encode("aaaa") == Tokens{256, 256});
}

TEST_CASE("tokenizer: no token reaches from one word into the next") {
  const auto bpe = data::train_bpe("of the of the of the of the 12of,, ,,of", 100);
  for (std::int64_t token = 256; token < bpe->vocabulary(); ++token) {
    const std::string bytes = bpe->decode(Tokens{token});
    INFO(bytes);
    CHECK(bytes.find(' ', 1) == std::string::npos);
    CHECK(bytes.find("2o") == std::string::npos);
    CHECK(bytes.find(",o") == std::string::npos);
  }
  CHECK(bpe->encode(" the").size() == 1);
  CHECK(bpe->encode("  the").size() == 2);  // of more spaces the last one belongs to the word
}

TEST_CASE("tokenizer: what occurs once is not merged, so a short text gives fewer merges") {
  CHECK(data::train_bpe("", 10)->vocabulary() == 256);
  CHECK(data::train_bpe("abc", 10)->vocabulary() == 256);
  CHECK(data::train_bpe("ab ab", 10)->vocabulary() == 257);
  CHECK_THROWS_AS(data::train_bpe("abc", -1), ContractError);
}

TEST_CASE("tokenizer: a description makes the same tokenizer again") {
  const auto bpe = data::train_bpe(words, 20);
  const auto again = data::read_tokenizer(bpe->description());
  CHECK(again->name() == "bpe");
  CHECK(again->description() == bpe->description());
  CHECK(again->vocabulary() == bpe->vocabulary());
  CHECK(again->encode(words) == bpe->encode(words));
  CHECK(data::read_tokenizer(data::make_byte_tokenizer()->description())->name() == "bytes");
}

TEST_CASE("tokenizer: a damaged description is refused, with its line") {
  const auto refused = [](const std::string& text, const std::string& part) {
    CHECK_THROWS_WITH(data::read_tokenizer(text), test::contains(part));
  };
  refused("", "line 1");
  refused("lockstep-tokenizer 2 bytes\n", "line 1");
  refused("lockstep-tokenizer 1 bpe\n", "line 1");
  refused("lockstep-tokenizer 1 bpe -1\n", "line 1");
  refused("lockstep-tokenizer 1 bpe 99999999999\n", "line 1");
  refused("lockstep-tokenizer 1 bpe 2\n97 98\n", "line 3: two tokens expected, the text ends");
  refused("lockstep-tokenizer 1 bpe 1\n97\n", "line 2: two tokens expected, seen '97'");
  refused("lockstep-tokenizer 1 bpe 1\n97 256\n", "line 2: tokens 0 to 255 exist here");
  refused("lockstep-tokenizer 1 bpe 1\n97 -1\n", "line 2");
  refused("lockstep-tokenizer 1 bpe 1\n97 98\n97 99\n", "line 3: it goes on");
  refused("lockstep-tokenizer 1 bpe 3\n97 98\n97 99\n97 98\n", "line 4: a pair that is not merged");
}

TEST_CASE("tokenizer: no token has more bytes than a description may ask for") {
  std::string doublings = "lockstep-tokenizer 1 bpe 11\n97 97\n";
  for (int token = 256; token < 265; ++token) {
    doublings += std::to_string(token) + " " + std::to_string(token) + "\n";
  }
  CHECK_THROWS_WITH(data::read_tokenizer(doublings + "265 265\n"),
                    test::contains("line 12") && test::contains("makes one of 2048"));
  const auto bpe = data::train_bpe(std::string(8192, 'a'), 100);
  CHECK(bpe->vocabulary() == 266);  // 2, 4, … 1024 bytes
  CHECK(data::read_tokenizer(bpe->description())->vocabulary() == 266);
}

TEST_CASE("tokenizer: decode refuses a token that does not exist") {
  const auto bpe = data::train_bpe("abab", 1);
  CHECK(bpe->decode(Tokens{256}) == "ab");
  CHECK_THROWS_WITH(bpe->decode(Tokens{257}), test::contains("token 257"));
  CHECK_THROWS_AS(bpe->decode(Tokens{-1}), ContractError);
  CHECK_THROWS_AS(data::make_byte_tokenizer()->decode(Tokens{256}), ContractError);
}
