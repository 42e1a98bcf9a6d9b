# What the runs of lesson 16 share: 24 blocks of GPT-3's width, and H100s on the simulator.
gpt="--model gpt --layers 24 --width 12288 --heads 96 --sequence 2048 --dtype bfloat16"
sim="--backend sim --sizes-only --cluster h100"
