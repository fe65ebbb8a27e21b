"""A peer that waits for work: one process per tool, so that tools can take turns without loading again.

Usage: serve.py infer TOOL THREADS | serve.py train THREADS. Requests are JSON lines on standard input, answers on
standard output; an exception becomes {"error": ...}.
"""
import json
import os
import sys
import time

import numpy as np

from common import batches_of, read_json, rows_in_order


class Inference:
    def __init__(self, tool, threads):
        from tools import TOOLS
        self.tool, self.threads = TOOLS[tool], int(threads)
        self.loaded = {}

    def answer(self, request):
        model, plan = request["model"], request["plan"]
        key = model, plan["variant"]
        if key not in self.loaded:
            self.loaded[key] = self.tool(model, plan["variant"], self.threads)
        tool = self.loaded[key]
        sequences = read_json(request["workload"])
        batches = batches_of(sequences, plan["order"], plan["batch"])
        prepared = tool.prepare([[sequences[number] for number in batch] for batch in batches])
        for _ in range(request["warm"]):
            tool.run(prepared)
        if request.get("out"):
            np.save(request["out"], rows_in_order(sequences, batches, tool.run(prepared)))
        return timed(lambda: tool.run(prepared), request["repeat"])


class Training:
    def __init__(self, threads):
        import torch
        torch.set_num_threads(int(threads))
        self.learner = None

    def answer(self, request):
        from train_torch import Learner
        if request.get("fresh"):
            self.learner = None  # its memory goes before the next one comes
            self.learner = Learner(request["task"], request["model"], request["setup"])
        work = self.learner.batches(request["workload"])
        timed_batches = request.get("run", range(len(work)))
        losses = [self.learner.step(work[number]) for number in request["warm"]]
        def run():
            losses.extend(self.learner.step(work[number]) for number in timed_batches)
        return {**timed(run, request["repeat"]), "losses": losses}


def timed(run, repeat):
    cpu, seconds = time.process_time(), []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "cpu_s": time.process_time() - cpu, "peak_memory_mb": peak_memory_mb()}


def peak_memory_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 / 1e6 for line in status if line.startswith("VmHWM"))


def main():
    kind, *arguments = sys.argv[1:]
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    server = {"infer": Inference, "train": Training}[kind](*arguments)
    for line in sys.stdin:
        try:
            answer = server.answer(json.loads(line))
        except Exception as error:  # told to the driver, which puts it into the table
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), file=replies, flush=True)


if __name__ == "__main__":
    main()
