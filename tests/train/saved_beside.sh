# TRAIN FOLDER OPTIONS: the same run, saved between its steps and beside them. Shows that both write the same
# files, and that the run goes on from them to the weights of one that never stopped.
set -e
train=$1 folder=$2 options=$3
rm -rf "$folder"
mkdir -p "$folder"
run() {
  into=$1
  shift
  "$train" $options --checkpoint "$folder/$into" "$@" >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
}
run between --steps 7 --save-every 3
run beside --steps 7 --save-every 3 --save-async
diff -r --exclude='.*' "$folder/between" "$folder/beside"
run whole --steps 11 --export "$folder/whole.safetensors"
run beside --steps 11 --save-every 2 --save-async --resume --export "$folder/rest.safetensors"
cmp "$folder/whole.safetensors" "$folder/rest.safetensors"
ls "$folder/beside"
grep 'a snapshot' "$folder/out"
