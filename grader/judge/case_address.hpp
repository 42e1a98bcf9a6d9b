// Which case a replay line means: "17", or "17.0.3" for a smaller variant of case 17.
//
// A variant is found by its way from the case that was drawn: of the smaller problems that its
// exam offers (`smaller`, in a fixed order) number 0 was taken, then of those that this one offers
// number 3. The seed, the number and the way are enough to make the same problem again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::grader {

struct CaseAddress {
  int number = 0;  // from 1
  std::vector<int> way;

  friend bool operator==(const CaseAddress&, const CaseAddress&) = default;
};

std::string text_of(const CaseAddress& address);

// nullopt when `written` is no address.
std::optional<CaseAddress> case_address(std::string_view written);

}  // namespace lockstep::grader
