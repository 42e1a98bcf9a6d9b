# What the runs of lesson 12 share: two blocks of GPT-3's width, one sequence per step, and GPUs on the simulator.
gpt="--model gpt --layers 2 --width 12288 --heads 96 --sequence 2048 --dtype bfloat16 --batch-size 1"
sim="--backend sim --sizes-only"
