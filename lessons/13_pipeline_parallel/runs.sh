# What the runs of lesson 13 share: a GPT without its depth, and H100s on the simulator.
gpt="--model gpt --width 5120 --heads 40 --sequence 2048 --dtype bfloat16"
h100="--backend sim --cluster h100 --sizes-only"
