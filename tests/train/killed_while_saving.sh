# TRAIN FOLDER TIMES OPTIONS: a run of two ranks that saves after every step is killed with SIGKILL at a random
# moment; goes on from what is there; and so TIMES times. Every second time one rank is killed alone, and the
# launcher ends the rest; otherwise all processes are. Shows how many kills left half a save behind, and that the
# run ends with the weights of one that was never killed.
set -e
train=$1 folder=$2 times=$3 options=$4
rm -rf "$folder"
mkdir -p "$folder"
run="--ranks 2 --data synthetic --batch-size 32 --optimizer adamw --lr-schedule constant"
saved="--checkpoint $folder/saved --save-every 1 --log $folder/log $options"

committed() {   # the steps of checkpoints that have an index, in order
  for index in "$folder"/saved/step_*/index.json; do
    [ ! -e "$index" ] || expr "$index" : '.*step_0*\([0-9][0-9]*\)/'
  done
}
fail() {
  echo "kill $kill, $delay ms after a step: $*"
  cat "$folder/out"
  exit 1
}

kill=0 torn=0
while [ "$kill" -lt "$times" ]; do
  kill=$((kill + 1))
  delay=$(($(od -An -N2 -tu2 /dev/urandom) % 250))
  last=$(committed | tail -n 1)
  : >"$folder/log"
  "$train" $run $saved --steps 1000000 ${last:+--resume} >"$folder/out" 2>&1 &
  pid=$!
  tries=0
  until grep -qs '"event":"step"' "$folder/log"; do
    kill -0 $pid || fail "the run has ended by itself"
    tries=$((tries + 1))
    [ $tries -lt 6000 ] || fail "no step in two minutes"
    sleep 0.02
  done
  sleep "$(printf '0.%03d' $delay)"
  read -r children <"/proc/$pid/task/$pid/children" || :   # the kernel ends no line
  children=${children% }
  if [ $((kill % 2)) = 1 ]; then killed="$pid $children"; else killed=${children##* }; fi
  kill -KILL $killed
  wait $pid 2>/dev/null || :
  [ -z "$last" ] || grep -q "continues at step $last:" "$folder/out" || fail "it did not go on from step $last"
  for one in "$folder"/saved/step_*; do
    [ ! -e "$one" ] || { [ -e "$one/index.json" ] && ! ls "$one"/*.tmp >/dev/null 2>&1; } || { torn=$((torn + 1)); break; }
  done
done

last=$(committed | tail -n 1) end=$(($(committed | tail -n 1) + 3))
"$train" $run $saved --steps $end --resume --export "$folder/rest.safetensors" >"$folder/out" 2>&1 || fail "it does not go on"
grep -q "continues at step $last:" "$folder/out" || fail "it did not go on from step $last"
"$train" $run --steps $end --export "$folder/whole.safetensors" >"$folder/out" 2>&1
cmp "$folder/whole.safetensors" "$folder/rest.safetensors"
echo "killed $times times, $torn times with half a save: after $end steps the weights are those of a run that was never killed"
