// exercise: activation_checkpoint
// verdict: crash
// says: something else than a tensor changed the account
// then: grader/impostors/lying/activation_checkpoint.keeps_everything.cpp
// Keeps all activations, and writes over the account of the device.
