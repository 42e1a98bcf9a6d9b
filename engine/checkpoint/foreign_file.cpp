// A safetensors file begins with the length of its header, which is below 2^32, and then with "{".
// Whatever begins otherwise may be known by a mark of its own.
#include "engine/checkpoint/foreign_file.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/checkpoint/safetensors.hpp"

namespace lockstep::checkpoint {
namespace {

using namespace std::string_view_literals;

constexpr const char* from_torch =
    "write it anew with Python's package safetensors: save_file(torch.load(\"OLD\", "
    "map_location=\"cpu\", weights_only=True), \"NEW.safetensors\")";
constexpr const char* from_others =
    "load it where it was written, and save its arrays with Python's package safetensors";
constexpr const char* from_the_web =
    "a server sends one when it refuses or does not find the file: look at the address, and at "
    "whether it needs a login, and download the file again";
constexpr const char* unpack = "unpack it, and pass the .safetensors file in it";

struct Mark {
  std::string_view bytes;
  std::size_t at;
  const char* what;
  const char* advice;
};
constexpr std::array marks{
    Mark{"version https://git-lfs"sv, 0, "a Git LFS pointer, which only stands for the file",
         "run git lfs pull in its repository"},
    Mark{"PK\3\4"sv, 0, "a zip archive, as torch.save writes one", from_torch},
    Mark{"\x80\2"sv, 0, "a pickle, as torch.save wrote before version 1.6", from_torch},
    Mark{"\x80\3"sv, 0, "a pickle", from_torch},
    Mark{"\x80\4"sv, 0, "a pickle", from_torch},
    Mark{"\x80\5"sv, 0, "a pickle", from_torch},
    Mark{"\x89HDF\r\n"sv, 0, "an HDF5 file, as Keras writes one", from_others},
    Mark{"\x93NUMPY"sv, 0, "one array of NumPy", from_others},
    Mark{"GGUF"sv, 0, "a GGUF file, as llama.cpp reads one",
         "its weights are quantized: look for the same model as .safetensors"},
    Mark{"\x1f\x8b"sv, 0, "compressed by gzip", unpack},
    Mark{"BZh"sv, 0, "compressed by bzip2", unpack},
    Mark{"\xfd\x37zXZ"sv, 0, "compressed by xz", unpack},
    Mark{"\x28\xb5\x2f\xfd"sv, 0, "compressed by zstd", unpack},
    Mark{"ustar"sv, 257, "a tar archive", unpack},
    Mark{"%PDF"sv, 0, "a PDF document", "pass the .safetensors file"},
};

bool is_text(std::string_view first) {
  return std::ranges::all_of(first, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char utf8_max = 0xf4;
    return (byte >= 0x20 && byte != 0x7f && byte <= utf8_max) || c == '\n' || c == '\r' ||
           c == '\t';
  });
}

std::string told(std::string_view what, std::string_view advice) {
  return text("is ", what, ": ", advice);
}

std::string told_of_text(std::string_view first) {
  const std::size_t begin = std::min(first.find_first_not_of("\xef\xbb\xbf \t\r\n"), first.size());
  std::string_view rest = first.substr(begin);
  if (rest.starts_with("<?xml") || rest.starts_with("<Error")) {
    return told("an XML document", from_the_web);
  }
  if (rest.starts_with("<")) return told("an HTML page", from_the_web);
  if (rest.starts_with("{") || rest.starts_with("[")) {
    return told("JSON text",
                "an index, model.safetensors.index.json, names the files that hold the weights: "
                "pass one of those");
  }
  constexpr std::size_t line_max = 40;
  rest = rest.substr(0, rest.find_first_of("\r\n"));
  return told(text("a text that begins with ", quoted(std::string(rest.substr(0, line_max)))),
              "pass a file that was written by --export or by Python's package safetensors");
}

}  // namespace

std::string told_of_foreign_file(std::span<const std::byte> bytes) {
  const std::string_view first(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::size_t length_bytes = 8;
  const bool short_header = first.substr(0, length_bytes).ends_with("\0\0\0\0"sv);
  if (first.size() <= length_bytes || (short_header && first[length_bytes] == '{')) return "";
  if (first.starts_with("PK\3\4") && first.find(".npy") != first.npos) {
    return told("a zip archive of arrays, as numpy.savez writes one", from_others);
  }
  for (const Mark& mark : marks) {
    if (first.size() > mark.at && first.substr(mark.at).starts_with(mark.bytes)) {
      return told(mark.what, mark.advice);
    }
  }
  if (first.size() >= 2 * length_bytes && first.find_first_not_of('\0') == first.npos) {
    return told("a file of zero bytes",
                "a download or a copy was interrupted, or the disk was full: get the file again");
  }
  return is_text(first) ? told_of_text(first) : "";
}

}  // namespace lockstep::checkpoint
