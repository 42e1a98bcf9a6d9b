# python lessons/04_feeding_the_ranks/twins/set_epoch.py
from torch.utils.data import DistributedSampler

samplers = [DistributedSampler(range(10), num_replicas=4, rank=rank) for rank in range(4)]
for told in False, True:
    for epoch in 0, 1:
        if told:
            for sampler in samplers:
                sampler.set_epoch(epoch)
        shares = [list(sampler) for sampler in samplers]
        print("told" if told else "not told", epoch, *shares)
