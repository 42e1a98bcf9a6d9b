// exercise: scale_learning_rate
// verdict: compile error
// says: all_reduce_rules.hpp
// then: the reference
// Reads how it will be judged.
#include "grader/exam/all_reduce_rules.hpp"
