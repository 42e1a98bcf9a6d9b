# What the runs of lesson 22 share: launchers on this machine that act as nodes and meet at one port.
folder=/tmp/lockstep-22
rm -rf $folder && mkdir $folder
log=$folder/node0
elastic="--nnodes 1:2 --last-call 0.2 --rdzv-endpoint 127.0.0.1:$((20000 + $$ % 10000))"

# when_seen WORDS : waits until node 0 has printed them.
when_seen() { until grep -qs "$1" $log; do sleep 0.02; done; }

# told : what node 0 printed of rounds, and of its rank in each: who it is, its batches, its save, its first step.
told() {
  sed -n -e 's/, and its ranks with it.*//' -e '/^round/p' -e '/^no restart/p' -e '/^exit code/p' \
    -e 's/^\[rank 0\] \([0-9]* of [0-9]*\)$/  \1/p' -e 's/.*synthetic: \(.* a rank\),.*/  \1/p' \
    -e 's/.*and saved in .*\/\(step_[0-9]*\):.*/  saved in \1/p' -e 's/.*\(continues at step [0-9]*\):.*/  \1/p' $log
}
