// exercise: scale_learning_rate
// verdict: compile error
// says: the attribute alias is refused
// then: the reference
// Puts a pragma between an attribute and the name that it passes on.
extern "C" int hidden_target() { return 1; }
extern "C" int hidden_alias() __attribute__((alias
#pragma hidden
                                             ("hidden_target")));
