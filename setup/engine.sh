# The engine's programs. `train --ranks N` is the launcher around N processes of `train`; the
# caller's folder stays the working folder, so file names mean what they say.

# train and run parse everything themselves; --ranks N stands before the launcher's "--".
engine_train() {
  ready
  build $engine_targets
  ranks=
  rest=0
  count=$#
  while [ "$rest" -lt "$count" ]; do
    argument=$1
    shift
    rest=$((rest + 1))
    case $argument in
      --ranks=*) ranks=${argument#--ranks=}; continue ;;
      --ranks)
        [ "$rest" -lt "$count" ] || fail 2 "--ranks wants a number: ./lab train --ranks 2"
        ranks=$1
        shift
        rest=$((rest + 1))
        continue ;;
    esac
    set -- "$@" "$argument"
  done
  [ -n "$ranks" ] || exec "$bin/train" "$@"
  exec "$bin/lockstep-run" --ranks "$ranks" -- "$bin/train" "$@"
}

engine_run() {
  hand_over "$engine_targets" lockstep-run "$@"
}
