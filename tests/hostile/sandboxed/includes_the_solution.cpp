// exercise: scale_learning_rate
// verdict: compile error
// says: does not define
// sandboxed: compile error
// Includes the reference by its path.
#if __has_include("solutions/05_data_parallel/scale_learning_rate.cpp")
#include "solutions/05_data_parallel/scale_learning_rate.cpp"
#elif __has_include("../../solutions/05_data_parallel/scale_learning_rate.cpp")
#include "../../solutions/05_data_parallel/scale_learning_rate.cpp"
#endif
