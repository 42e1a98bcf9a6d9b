// Another name of continuation.hpp, which students' answers to the exercises of lesson 10 may
// include.
#pragma once

#include "engine/parallel/compress/continuation.hpp"
