# What the runs of lesson 07 share: its GPT on sixteen A100, and nodes that Ethernet connects, on the simulator.
gpt="--model gpt --layers 12 --width 768 --heads 12 --sequence 1024 --batch-size 2 --ranks 16"
ethernet="--backend sim --cluster ethernet --sizes-only"
