# The engine's programs. `train --ranks N` starts itself N times under the launcher; the caller's
# folder stays the working folder, so file names mean what they say.
engine_train() {
  hand_over "$engine_targets" train "$@"
}

engine_run() {
  hand_over "$engine_targets" lockstep-run "$@"
}
