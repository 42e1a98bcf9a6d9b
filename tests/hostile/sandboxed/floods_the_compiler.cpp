// exercise: scale_learning_rate
// verdict: compile error
// says:
// then: the reference
// Causes endless compiler errors.
#define A B B B B B B B B
#define B C C C C C C C C
#define C D D D D D D D D
#define D error_of_a_line_that_is_long_enough;
A
