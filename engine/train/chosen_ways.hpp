// The ways to train that a command line chooses, in a program that has them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/way_maker.hpp"

namespace lockstep::train {

// The maker of a declared way; none: it is not linked into this program. Each program has a table
// of its own (cmake/ways.cmake).
const WayMaker* find_maker(std::string_view stem);

// The makers of the ways that a command line chooses.
class ChosenWays {
 public:
  //   Throws  UsageError when this program lacks one of them
  //   ways    must outlive this
  explicit ChosenWays(const Arguments& arguments, std::span<const Way> ways = declared_ways());

  const WayMaker& trainer() const { return *trainer_; }
  // As WayMaker's; of the trainer and of the hook. Where there are axes, these are asked about the
  // ranks that hold one part of each layer.
  void check(const Arguments& arguments, const nn::ModelSpec& model, int ranks) const;
  int shares(const Arguments& arguments, int ranks) const;
  // The trainer's, of a rank's share of each layer where the ranks of an axis share layers.
  void check_memory(const Arguments& arguments, Recipe recipe,
                    std::span<const std::int64_t> batches, const DeviceRoom& room) const;
  std::string note(const Arguments& arguments, const nn::ModelSpec& model) const;
  std::string compression(const Arguments& arguments) const;
  std::string note_on_resume(const Arguments& arguments) const;
  // Lays the ranks out on the axes first.
  //   Throws  UsageError as shares
  std::unique_ptr<Strategy> make(Making& making) const;

 private:
  int ranks_without_axes(int ranks) const;

  std::span<const Way> ways_;
  const WayMaker* trainer_ = nullptr;
  const WayMaker* hook_ = nullptr;
  struct OfAxis {
    mesh::Axis axis;
    const WayMaker* maker;
  };
  std::vector<OfAxis> layers_;  // of the axes whose ranks share layers, in the order of their ways
  std::int64_t ranks_of_axes_ = 1;
};

}  // namespace lockstep::train
