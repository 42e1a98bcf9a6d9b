# What the trained models of lesson 14 share: two blocks of width 64 on text, four ranks on the simulator, 500 steps. A token
# of `mixture` uses one of eight experts, so it computes as much as one of `dense`.
dense="--model gpt --data lessons --layers 2 --width 64 --heads 4 --sequence 32 --batch-size 4 --ranks 4 --steps 500 --lr-schedule constant --backend sim"
mixture="$dense --experts 8 --top-k 1 --capacity 1.25 --ep 4"
# The beginning of such a run, on a text that does not change.
short="$mixture --data text:LICENSE --batch-size 8 --steps 40"
