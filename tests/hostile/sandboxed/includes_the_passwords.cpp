// exercise: scale_learning_rate
// verdict: compile error
// says: /etc/passwd
// then: the reference
// Has a file printed as an error.
#include "/etc/passwd"
