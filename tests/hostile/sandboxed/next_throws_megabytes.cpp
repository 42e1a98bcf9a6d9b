// exercise: prefetching_loader
// verdict: wrong answer
// says: the exception
// Its loader throws a text of twenty megabytes, which the judge repeats: the sentence is cut.
#include <stdexcept>

#include "engine/data/loader.hpp"

namespace lockstep::data {
namespace {

struct Wordy : Loader {
  void start(int) override {}
  std::optional<Batch> next() override {
    throw std::runtime_error(std::string(20'000'000, 'w'));
  }
};

}  // namespace

std::unique_ptr<Loader> make_prefetching_loader(const Dataset&, Sampler, const LoaderOptions&,
                                                Device&, Strands&) {
  return std::make_unique<Wordy>();
}

}  // namespace lockstep::data
