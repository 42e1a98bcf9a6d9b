# torchrun --nproc-per-node 3 lessons/09_asynchronous/twins/parameter_server.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, workers = dist.get_rank(), dist.get_world_size() - 1
arrivals = [1, 1, 1, 2, 1, 1, 1, 2]  # stands for time: worker 2 is three times slower

if rank == 0:  # the server
    w, version, pulled = torch.tensor(0.0), 0, {}
    for worker in 1, 2:  # the first pull
        dist.send(w, worker)
        pulled[worker] = version
    for worker in arrivals:
        gradient = torch.empty(())
        dist.recv(gradient, worker)
        w -= 0.5 * gradient / workers
        staleness = version - pulled[worker]
        print(f"worker {worker}: staleness {staleness}, gradient {gradient:6.3f}, w {w:.3f}")
        version += 1
        dist.send(w, worker)  # the answer to a push is the next pull
        pulled[worker] = version
else:
    w = torch.empty(())
    dist.recv(w, 0)
    for _ in range(arrivals.count(rank)):
        dist.send(w - 4, 0)  # the gradient of (w - 4)² / 2
        dist.recv(w, 0)
dist.destroy_process_group()
