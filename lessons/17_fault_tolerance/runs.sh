# What the trained models of lesson 17 share: a small GPT in float64 on the simulator, and eight ranks that shard it.
gpt="--model gpt --data text:LICENSE --layers 2 --width 32 --heads 4 --sequence 16 --dtype float64 --lr-schedule constant --backend sim"
fsdp="--ranks 8 --batch-size 2 --fsdp full_shard"
