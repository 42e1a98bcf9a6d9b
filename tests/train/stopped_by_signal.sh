# TRAIN SIGNAL FOLDER RANKS TARGET [OPTIONS]: starts a long run with checkpoints, sends SIGNAL to TARGET
# ("launcher" or "rank") once it has taken some steps, and shows how it ended, what it saved last, and that it
# goes on.
train=$1 signal=$2 folder=$3 ranks=$4 target=$5 more=$6
rm -rf "$folder"
mkdir -p "$folder"
run="--ranks $ranks --data synthetic --batch-size 8 --checkpoint $folder/saved --log $folder/log $more"
"$train" $run --steps 1000000 >"$folder/out" 2>&1 &
pid=$!
tries=0
until grep -qs '"step":3,' "$folder/log" || [ $tries = 600 ]; do tries=$((tries + 1)); sleep 0.1; done
to=$pid
if [ "$target" = rank ]; then
  read -r children <"/proc/$pid/task/$pid/children" || :   # the kernel ends no line
  to=$(printf '%s\n' $children | tail -n 1)
fi
kill -s "$signal" "$to"
wait $pid
echo "ended with $?"
grep '^stopped by' "$folder/out"
last=$(grep -o '"event":"step","step":[0-9]*' "$folder/log" | tail -n 1 | grep -o '[0-9]*$')
latest=$(ls "$folder/saved" | tail -n 1)
echo "saved $latest"
[ "step_$(printf %06d "$last")" = "$latest" ] && echo "that is the last step of the log"
"$train" $run --steps $((last + 3)) --resume >"$folder/out" 2>&1
echo "went on with $?: $(grep -c "continues at step $last:" "$folder/out")"
