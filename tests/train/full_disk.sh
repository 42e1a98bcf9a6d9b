# TRAIN FOLDER OPTIONS: a run of two ranks whose disk is full when it saves for the third time. Shows what it is told,
# what is left, and that it goes on from there when the disk has room. Ends with 77 where nothing can be mounted.
set -e
if [ "$4" != mounted ]; then
  unshare -m true 2>/dev/null || { echo "SKIPPED: this user cannot mount a small disk"; exit 77; }
  exec unshare -m sh "$0" "$1" "$2" "$3" mounted
fi
train=$1 folder=$2 options=$3
rm -rf "$folder"
mkdir -p "$folder/disk"
mount -t tmpfs -o size=1500k tmpfs "$folder/disk"
run="--ranks 2 --data synthetic --batch-size 32 --optimizer adamw --lr-schedule constant"
saved="--checkpoint $folder/disk/saved --save-every 2 $options"
"$train" $run $saved --steps 9 >"$folder/out" 2>&1 && { echo "it did not fail"; exit 1; }
echo "failed with $?: $(grep -c 'No space left on device' "$folder/out")"
grep -o 'rank [0-9] could not save\|nothing was saved' "$folder/out" | sort -u
ls "$folder/disk/saved"
mount -o remount,size=16m "$folder/disk"
"$train" $run $saved --steps 9 --resume --export "$folder/rest.safetensors" >"$folder/out" 2>&1 || cat "$folder/out"
grep -o 'continues at step [0-9]*' "$folder/out"
"$train" $run --steps 9 --export "$folder/whole.safetensors" >"$folder/out" 2>&1
cmp "$folder/whole.safetensors" "$folder/rest.safetensors" && echo "the weights are those of a run whose disk had room"
