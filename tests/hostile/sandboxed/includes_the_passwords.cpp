// exercise: scale_learning_rate
// verdict: compile error
// says: /etc/passwd
// then: the reference
// Prints a file as a compiler error.
#include "/etc/passwd"
