# The engine's programs. `train --ranks N` starts itself N times under the launcher; the caller's
# folder stays the working folder, so file names mean what they say. `--with work` is the wrapper's:
# it chooses the program that is linked with the student's parts that pass.
engine_train() {
  ready
  build $engine_targets
  train=$bin/train
  left=$#
  while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    if [ "$argument" = --with ] && [ "$left" -gt 0 ]; then
      argument=--with=$1
      shift
      left=$((left - 1))
    fi
    case $argument in
      --with=work)
        build $tool_targets
        train=$("$bin/lab-tool" with-work) || exit $? ;;
      --with | --with=*) fail 2 "--with takes 'work': ./lab train --with work" ;;
      *) set -- "$@" "$argument" ;;
    esac
  done
  exec "$train" "$@"
}

engine_run() {
  hand_over "$engine_targets" lockstep-run "$@"
}
