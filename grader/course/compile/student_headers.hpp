// The headers that are precompiled for students' files, besides the contracts of their lesson
// (cmake/parts.cmake). A file still includes what it uses; this only makes the compiler quick.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
