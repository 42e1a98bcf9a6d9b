// Fashion-MNIST from its gzipped IDX files. An IDX file is a header of big-endian 32-bit numbers
// (0, 0, type, dimensions; then each size) and the bytes; nothing in it is believed before it was
// compared with what Fashion-MNIST is. Pixels stay bytes in memory, 47 MB for the training set, and
// become floating point batch by batch.
#include <zlib.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "engine/data/batch.hpp"
#include "engine/data/dataset.hpp"

namespace lockstep::data {
namespace {

constexpr std::int64_t side = 28, pixels = side * side, class_count = 10;
constexpr std::int64_t samples_max = 1'000'000;  // a header that claims more is no dataset of ours
constexpr double mean = 0.2860, deviation = 0.3530;

[[noreturn]] void refuse_file(const std::string& path, const std::string& problem) {
  throw UsageError(text(path, " ", problem,
                        "; install the data with `apt install dataset-fashion-mnist`",
                        ", name its folder with --data-folder, or ask `./lab doctor`"));
}

// The file is there, and is not what the package holds.
[[noreturn]] void refuse_content(const std::string& path, const std::string& problem) {
  throw UsageError(text(path, " ", problem,
                        "; renew it with `apt-get install --reinstall dataset-fashion-mnist`",
                        ", or leave --data-folder out to read the package's own folder"));
}

// A gzipped file (or a plain one: zlib reads both) that is read to its end and closed by itself.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)), file_(gzopen(path_.c_str(), "rb")) {
    if (!file_) refuse_file(path_, "cannot be opened");
  }

  void read(std::uint8_t* to, std::int64_t bytes) {
    const int got = gzread(file_.get(), to, static_cast<unsigned>(bytes));
    if (got == bytes) return;
    int code = Z_OK;
    const std::string reason = gzerror(file_.get(), &code);
    if (code != Z_OK && code != Z_BUF_ERROR) refuse_content(path_, "is damaged: " + reason);
    refuse_content(path_, text("is truncated: ", bytes, " more unpacked bytes expected, ",
                               std::max(got, 0), " found"));
  }

  std::int64_t read_number() {
    std::array<std::uint8_t, 4> b;
    read(b.data(), 4);
    return (std::int64_t{b[0]} << 24) | (b[1] << 16) | (b[2] << 8) | b[3];
  }

  void expect_number(std::int64_t expected, const char* what) {
    const std::int64_t found = read_number();
    if (found != expected) {
      refuse_content(path_,
                     text("is no such IDX file: ", what, " is ", found, ", expected ", expected));
    }
  }

  void expect_end() {
    std::uint8_t more;
    const int got = gzread(file_.get(), &more, 1);
    if (got < 0) refuse_content(path_, "is damaged: its check sum does not fit");
    if (got > 0) refuse_content(path_, "is no such IDX file: it goes on after the last sample");
  }

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

// One IDX file: `magic`, the number of samples, `dimensions`, then `sample_bytes` a sample.
std::vector<std::uint8_t> read_idx(const std::string& path, std::int64_t magic,
                                   std::span<const std::int64_t> dimensions) {
  Reader file(path);
  file.expect_number(magic, "the magic number");
  const std::int64_t count = file.read_number();
  if (count < 1 || count > samples_max)
    refuse_content(path, text("is no such IDX file: it claims ", count, " samples"));
  std::int64_t bytes = count;
  for (const std::int64_t size : dimensions) {
    file.expect_number(size, "an image's side");
    bytes *= size;
  }
  std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes));
  file.read(data.data(), bytes);
  file.expect_end();
  return data;
}

class FashionMnist final : public Dataset {
 public:
  FashionMnist(const std::string& images, const std::string& labels)
      : pixels_(read_idx(images, 0x803, std::array{side, side})),
        labels_(read_idx(labels, 0x801, {})) {
    if (std::ssize(pixels_) != std::ssize(labels_) * pixels) {
      refuse_content(labels, text("has ", labels_.size(), " labels for ",
                                  std::ssize(pixels_) / pixels, " images"));
    }
    for (const std::uint8_t label : labels_) {
      if (label >= class_count)
        refuse_content(labels, text("holds the label ", int{label}, ", classes are 0 to 9"));
    }
  }

  std::int64_t size() const override { return std::ssize(labels_); }
  std::int64_t inputs() const override { return pixels; }
  std::int64_t classes() const override { return class_count; }

  Batch batch(std::span<const std::int64_t> indices, DType dtype, Device& device) const override {
    const std::int64_t count = std::ssize(indices);
    const Batch made{empty({count, pixels}, dtype, device.host()),
                     empty({count}, DType::int64, device.host())};
    write_inputs(made, device, [&]<typename T>() {
      std::array<T, 256> standardised;
      for (std::size_t grey = 0; grey < standardised.size(); ++grey) {
        standardised[grey] = element_of<T>((static_cast<double>(grey) / 255 - mean) / deviation);
      }
      T* to = made.inputs.data<T>().data();
      std::int64_t* label = made.labels.data<std::int64_t>().data();
      for (const std::int64_t index : indices) {
        LOCKSTEP_CHECK(index >= 0 && index < size(), "batch: sample ", index, " of a dataset of ",
                       size(), "; indices come from distributed_indices with its length");
        const std::uint8_t* from = pixels_.data() + index * pixels;
        for (std::int64_t i = 0; i < pixels; ++i) *to++ = standardised[from[i]];
        *label++ = labels_[static_cast<std::size_t>(index)];
      }
    });
    return to_device(made, device);
  }

 private:
  std::vector<std::uint8_t> pixels_;  // [samples, 28, 28]
  std::vector<std::uint8_t> labels_;  // [samples]
};

}  // namespace

std::unique_ptr<Dataset> open_fashion_mnist(Split split, const std::string& folder) {
  const std::string stem = folder + (split == Split::train ? "/train" : "/t10k");
  return std::make_unique<FashionMnist>(stem + "-images-idx3-ubyte.gz",
                                        stem + "-labels-idx1-ubyte.gz");
}

}  // namespace lockstep::data
