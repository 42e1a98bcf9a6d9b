# What the runs of lesson 15 share: two blocks of width 8,192, one sequence of 100,000 tokens per step, and H100s on the
# simulator.
gpt="--model gpt --layers 2 --width 8192 --heads 64 --sequence 100000 --dtype bfloat16 --batch-size 1"
sim="--backend sim --sizes-only --cluster h100"
