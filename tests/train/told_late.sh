# TRAIN FOLDER: starts a run of 2 ranks, tells one rank to save and stop, and tells the other the same until
# it is gone; shows how the run ended.
train=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
"$train" --ranks 2 --data synthetic --batch-size 8 --checkpoint "$folder/saved" --log "$folder/log" --steps 1000000 >"$folder/out" 2>&1 &
pid=$!
tries=0
until grep -qs '"step":3,' "$folder/log" || [ $tries = 600 ]; do tries=$((tries + 1)); sleep 0.1; done
read -r children <"/proc/$pid/task/$pid/children" || :   # the kernel ends no line
set -- $children
kill -s USR1 "$2"
while kill -s USR1 "$1" 2>/dev/null; do :; done
wait $pid
echo "ended with $?"
grep '^stopped by' "$folder/out"
