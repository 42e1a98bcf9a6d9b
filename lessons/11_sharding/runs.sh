# What the runs of lesson 11 share: a GPT of 5 billion parameters on the simulator, 8 bytes for each.
gpt="--model gpt --layers 16 --width 5120 --heads 40 --sequence 2048 --dtype bfloat16"
h100="--backend sim --cluster h100 --sizes-only"
