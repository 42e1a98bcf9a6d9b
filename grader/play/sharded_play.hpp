// Plays a part that computes on pieces of a whole: a member is given its pieces and nothing of the
// others', and hands its pieces back. Whenever a call of the part is over, the adapter tells the
// judge, which looks at the memory of the process at that moment.
#pragma once

#include "grader/play/ask.hpp"
#include "grader/play/ranks_play.hpp"

namespace lockstep::grader {

// Call number `step` of the part, from 1, is over; 0: it has been made. What it says of the part's
// tensors is advice (decision 0055).
struct Moment {
  static constexpr const char* service = "moments";
  std::uint32_t step = 0;
  // Beside those of the adapter: alive now, and the most within the call.
  std::int64_t held_bytes = 0, peak_bytes = 0;
};
template <typename Archive>
void fields(Archive& archive, Moment& moment) {
  archive(moment.step, moment.held_bytes, moment.peak_bytes);
}

// Tells of each moment of a part on this device. What is alive there when it is made is the
// adapter's.
class Moments {
 public:
  Moments(Device& device, sim::Port& port)
      : device_(device), port_(port), own_bytes_(device.bytes_now()) {}

  void is_made() { tell(port_, Moment{0, held(), held()}); }
  void call(const auto& part) {
    device_.reset_peak();
    part();
    tell(port_, Moment{++step_, held(), device_.bytes_peak() - own_bytes_});
  }

 private:
  std::int64_t held() const { return device_.bytes_now() - own_bytes_; }

  Device& device_;
  sim::Port& port_;
  std::int64_t own_bytes_;
  std::uint32_t step_ = 0;
};

}  // namespace lockstep::grader
