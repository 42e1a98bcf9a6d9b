# TRAIN FOLDER: what a run says of a layer that crosses nodes is what the simulator's timeline shows, in every
# layout: the sums of a step in all stages, and the bytes of one.
set -e
train=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
while IFS='|' read -r options stages; do
  "$train" --model gpt --layers 4 --width 32 --heads 8 --sequence 16 --batch-size 4 --tp 8 --steps 2 --backend sim \
    --cluster ethernet --sizes-only --trace "$folder/trace.json" $options >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
  told=$(sed -nE 's/.* of \[([0-9, ]+)\], ([0-9]+) bytes, takes .* has ([0-9]+) of them.*/\3 of \2 bytes/p' "$folder/out")
  # Of the first rank of each stage, which are the last ranks to be numbered.
  seen=$(awk -v stages="$stages" -v bytes="$(echo "$told" | sed 's/.* of \([0-9]*\) .*/\1/')" '
    function field(name) { return match($0, "\"" name "\":\"?[^\",}]*") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : "" }
    { name = field("name"); sub(/^"/, "", name); rank = field("pid") + 0; if (rank > last) last = rank }
    name !~ /^(all_reduce|all_gather|reduce_scatter)$/ || field("bytes") == 0 || !/parallel_|conjugate/ { next }
    { whole = field("bytes") * (name == "all_gather" ? 8 : 1); if (whole == bytes) ++sums[rank] }
    END { each = (last + 1) / stages; for (s = 0; s < stages; s++) all += sums[s * each]; print all / 2 " of " bytes " bytes" }' "$folder/trace.json")
  [ "$told" = "$seen" ] && [ -n "$told" ] || { echo "$options: told '$told', seen '$seen'"; cat "$folder/out"; exit 1; }
done <<'TEXT'
|1
--recompute|1
--sp|1
--sp --recompute --no-overlap|1
--ranks 16 --cp 2|1
--ranks 16 --accumulate 3|1
--ranks 16 --fsdp full_shard --recompute --accumulate 2|1
--ranks 16 --zero 2 --sp|1
--pp 1 --micro-batches 2|1
--ranks 16 --pp 2|2
--ranks 32 --pp 2 --dp 2 --micro-batches 4 --accumulate 2 --recompute|2
--ranks 16 --pp 2 --sp --schedule zero-bubble --micro-batches 4|2
--ranks 16 --pp 2 --schedule interleaved --micro-batches 2 --untied|2
--experts 8 --top-k 1|1
TEXT
