// Small IDX files are written to a folder of their own, whole and broken in every way.
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "engine/data/dataset.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::contains;
using Octets = std::vector<std::uint8_t>;

namespace {

// Three images, image i of grey level i + 100 but for its first pixel, 0; labels 7, 8, 9.
Octets images() {
  Octets file = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28, 0, 0, 0, 28};
  for (int i = 0; i < 3; ++i) {
    file.push_back(0);
    file.insert(file.end(), 783, static_cast<std::uint8_t>(100 + i));
  }
  return file;
}
Octets labels() { return {0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9}; }

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    write("train-images-idx3-ubyte.gz", images());
    write("train-labels-idx1-ubyte.gz", labels());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const Octets& octets) const {
    gzFile file = gzopen((path_ / name).c_str(), "wb");
    REQUIRE(gzwrite(file, octets.data(), static_cast<unsigned>(octets.size())) ==
            static_cast<int>(octets.size()));
    REQUIRE(gzclose(file) == Z_OK);
  }
  void write_images(const Octets& octets) const { write("train-images-idx3-ubyte.gz", octets); }
  void write_labels(const Octets& octets) const { write("train-labels-idx1-ubyte.gz", octets); }

  std::filesystem::path images_path() const { return path_ / "train-images-idx3-ubyte.gz"; }
  std::unique_ptr<data::Dataset> open() const {
    return data::open_fashion_mnist(data::Split::train, path_.string());
  }
  std::string refusal() const {
    try {
      open();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("fashion-mnist: samples come in the order of the indices, standardised") {
  const Folder folder;
  const auto dataset = folder.open();
  CHECK(dataset->size() == 3);
  CHECK(dataset->inputs() == 784);
  CHECK(dataset->classes() == 10);
  CpuDevice device;
  for (const DType dtype : {DType::float32, DType::float64}) {
    const auto batch = dataset->batch(std::array<std::int64_t, 3>{2, 0, 2}, dtype, device);
    CHECK(batch.inputs.shape() == Shape{3, 784});
    CHECK(batch.inputs.item(0) == Approx(-0.2860 / 0.3530));
    CHECK(batch.inputs.item(1) == Approx((102.0 / 255 - 0.2860) / 0.3530));
    CHECK(batch.inputs.item(784 + 783) == Approx((100.0 / 255 - 0.2860) / 0.3530));
    CHECK(batch.labels.item(0) == 9);
    CHECK(batch.labels.item(1) == 7);
    CHECK(batch.labels.item(2) == 9);
  }
  CHECK(dataset->batch({}, DType::float32, device).inputs.shape() == Shape{0, 784});
}

TEST_CASE("fashion-mnist: an index outside the dataset is refused") {
  const Folder folder;
  const auto dataset = folder.open();
  CpuDevice device;
  CHECK_THROWS_WITH(dataset->batch(std::array<std::int64_t, 1>{3}, DType::float32, device),
                    contains("sample 3 of a dataset of 3"));
  CHECK_THROWS_AS(dataset->batch(std::array<std::int64_t, 1>{-1}, DType::float32, device),
                  ContractError);
  CHECK_THROWS_AS(dataset->batch(std::array<std::int64_t, 1>{0}, DType::int64, device),
                  ContractError);
}

TEST_CASE("fashion-mnist: a missing file is named, with what to type") {
  const Folder folder;
  std::filesystem::remove(folder.images_path());
  CHECK_THAT(folder.refusal(), contains("train-images-idx3-ubyte.gz cannot be opened"));
  CHECK_THAT(folder.refusal(), contains("apt install dataset-fashion-mnist"));
  CHECK_THAT(folder.refusal(), contains("./lab doctor"));
}

TEST_CASE("fashion-mnist: a file that ends early is truncated, wherever it ends") {
  const Folder folder;
  for (const std::size_t length : {0, 3, 4, 10, 16, 17, 2367}) {
    Octets short_file = images();
    short_file.resize(length);
    folder.write_images(short_file);
    CAPTURE(length);
    CHECK_THAT(folder.refusal(), contains("train-images-idx3-ubyte.gz is truncated"));
    CHECK_THAT(folder.refusal(), contains("more unpacked bytes expected"));
    CHECK_THAT(folder.refusal(), contains("apt-get install --reinstall dataset-fashion-mnist") &&
                                     contains("leave --data-folder out"));
  }
  folder.write_images(images());
  Octets two = labels();
  two.pop_back();
  folder.write_labels(two);
  CHECK_THAT(folder.refusal(), contains("train-labels-idx1-ubyte.gz is truncated"));
}

TEST_CASE("fashion-mnist: a gzip stream that was cut or changed is refused") {
  const Folder folder;
  const auto whole = std::filesystem::file_size(folder.images_path());
  std::filesystem::resize_file(folder.images_path(), whole - 12);
  CHECK_THAT(folder.refusal(), contains("train-images-idx3-ubyte.gz is"));
  folder.write_images(images());
  // The last eight bytes are the check sum and the length.
  std::fstream file(folder.images_path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(whole) - 8);
  file.write("\x01\x02\x03\x04", 4);
  file.close();
  CHECK_THAT(folder.refusal(), contains("train-images-idx3-ubyte.gz is damaged"));
}

TEST_CASE(
    "fashion-mnist: garbage, other sizes, other counts, strange labels and tails are refused") {
  const Folder folder;
  std::ofstream(folder.images_path()) << "this is no dataset, and no gzip file either";
  CHECK_THAT(folder.refusal(), contains("is no such IDX file: the magic number is"));

  auto with = [](Octets octets, std::size_t at, std::uint8_t value) {
    octets[at] = value;
    return octets;
  };
  folder.write_images(labels());
  CHECK_THAT(folder.refusal(), contains("the magic number is 2049, expected 2051"));
  folder.write_images(with(images(), 11, 32));
  CHECK_THAT(folder.refusal(), contains("side is 32, expected 28"));
  folder.write_images(with(images(), 4, 0xff));
  CHECK_THAT(folder.refusal(), contains("claims 4278190083 samples"));
  folder.write_images(with(images(), 7, 0));
  CHECK_THAT(folder.refusal(), contains("claims 0 samples"));
  folder.write_images(with(images(), 7, 2));
  CHECK_THAT(folder.refusal(), contains("goes on after the last sample"));

  folder.write_images(images());
  folder.write_labels(with(labels(), 9, 10));
  CHECK_THAT(folder.refusal(), contains("holds the label 10"));
  Octets four = with(labels(), 7, 4);
  four.push_back(1);
  folder.write_labels(four);
  CHECK_THAT(folder.refusal(), contains("has 4 labels for 3 images"));
}

TEST_CASE("fashion-mnist: the installed files are 60,000 and 10,000 samples of ten classes") {
  if (!std::filesystem::exists(data::fashion_mnist_folder)) return;
  CpuDevice device;
  const auto train = data::open_fashion_mnist(data::Split::train);
  const auto test = data::open_fashion_mnist(data::Split::test);
  CHECK(train->size() == 60'000);
  CHECK(test->size() == 10'000);
  const auto first = train->batch(std::array<std::int64_t, 2>{0, 1}, DType::float32, device);
  CHECK(first.labels.item(0) == 9);
  CHECK(first.labels.item(1) == 0);
}
