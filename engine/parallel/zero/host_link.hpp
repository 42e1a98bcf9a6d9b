// The way between a rank's device and its host, on which sharded state travels that the device has
// no room for. Each direction is a queue: its copies run one after the other, beside the strand
// that asks for them, and the two do not wait for each other.
#pragma once

#include <memory>

#include "engine/comm/process_group.hpp"
#include "engine/strand/strand.hpp"
#include "engine/tensor/host_memory.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::zero {

class HostLink {
 public:
  // A copy replaces the elements that it finds where it arrives, or is added to them.
  enum class Arrives : std::uint8_t { replaces, adds };

  virtual ~HostLink() = default;
  virtual Device& host() = 0;
  // Starts a copy of equal numbers of elements. Both tensors belong to it until wait(). What goes
  // down may have another type there: the host converts it. With `adds`, the host adds what came
  // to what is there. The queue goes on when that is done.
  virtual comm::Work down(const Tensor& on_device, const Tensor& on_host, Arrives how) = 0;
  virtual comm::Work up(const Tensor& on_host, const Tensor& on_device) = 0;
  // The bytes of all copies that were started.
  virtual HostTraffic traffic() const = 0;
};

//   strands  of this rank; none: whoever asks for a copy makes it at once. A GPU takes none: it
//            makes its copies in its stream's turn, beside no kernel
//   clock    by which copies are timed
//   All of them, and the host's device, must outlive the link.
std::unique_ptr<HostLink> make_host_link(HostMemory host, Strands* strands,
                                         const comm::ProcessGroup& clock);

}  // namespace lockstep::zero
