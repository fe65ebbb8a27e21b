"""Inference: every tool's best set-up is looked for, its numbers are compared, then the tools take turns."""
import numpy as np

import workloads
from common import MODELS, SCRATCH, difference
from tools import SIDE_BY_SIDE, TOOLS
from workers import ALLOCATORS, Worker, oxibert

MODELS_IN_ORDER = ("minilm", "base")  # the small one first: what is fast there is tried on the large one
REPEAT = {  # per round; a heavy case takes some ten seconds a time
    "minilm": {"1x128": 10, "8x128": 5, "32x128": 3, "ragged": 2},
    "base": {"1x128": 5, "8x128": 3, "32x128": 2, "ragged": 1},
}
BATCHES = {"1x128": [1], "8x128": [8, 4], "32x128": [32, 16, 8], "ragged": [64, 32, 16, 8]}
LARGEST = 64  # padding makes it slow for all but CTranslate2, which skips padding
ARRIVAL = dict(order="arrival", batch=32)  # what a loop over texts does that thinks no further
HEAVY = ("32x128", "ragged")
COMPILED = ("compiled", "compiled-any")
TOLERANCE = 1e-4  # of hidden states, which are of size 1: 32-bit sums in another order
CHANCES = 2  # how many of the best are tried again, with other batches or on the large model


class Peers:
    """The workers, started when they are needed: one for each tool, PyTorch also with an allocator that reuses memory."""

    def __init__(self, threads):
        self.threads, self.workers = threads, {}

    def ask(self, tool, model, workload, plan, **request):
        key = tool, plan["allocator"]
        if key not in self.workers:
            self.workers[key] = Worker("infer", tool, threads=self.threads, allocator=plan["allocator"])
        path = workloads.path(workload)
        return self.workers[key].ask(model=model, workload=path, plan=plan, **request)

    def close(self):
        for worker in self.workers.values():
            worker.close()


class Inference:
    def __init__(self, results, rounds, threads, quick):
        self.results, self.rounds, self.threads, self.quick = results, rounds, threads, quick
        self.peers, self.ranked = Peers(threads), {}

    def run(self):
        for model in MODELS_IN_ORDER:
            for workload in REPEAT[model]:
                self.compare_and_time(model, workload)
        self.peers.close()

    def compare_and_time(self, model, workload):
        chosen = {tool: self.tune(tool, model, workload) for tool in TOOLS}
        chosen = {tool: plan for tool, plan in chosen.items() if plan}
        if workload == "ragged" and "torch" in chosen:
            chosen["torch-arrival"] = {**chosen["torch"], **ARRIVAL}
        agreements = self.agreements(model, workload, chosen)
        for number in range(self.rounds):
            self.time_oxibert(model, workload, number, agreements["oxibert"])
            for tool, plan in chosen.items():
                repeat = 1 if self.quick or tool == "torch-arrival" else REPEAT[model][workload]
                answer = self.peers.ask(tool.split("-")[0], model, workload, plan, warm=int(repeat > 2), repeat=repeat)
                self.add(model, workload, tool, plan=plan, round=number, agreement=agreements[tool], **answer)

    def time_oxibert(self, model, workload, number, agreement):
        repeat = 1 if self.quick else REPEAT[model][workload]
        answer = self.oxibert(model, workload, "--repeat", repeat)
        self.add(model, workload, "oxibert", round=number, agreement=agreement, **answer)

    def oxibert(self, model, workload, *arguments):
        ids = workloads.path(workload)
        return oxibert("--model", MODELS / model / "hf", "--ids", ids, *arguments, threads=self.threads)

    def add(self, model, workload, tool, **fields):
        self.results.add(section="inference", model=model, workload=workload, tool=tool, threads=self.threads, **fields)

    def tune(self, tool, model, workload):
        """The fastest plan of those that work; a failure of all is written down, for the table."""
        timed, failure = [], None
        light = int(model == "minilm" or workload not in HEAVY)
        for plan in self.candidates(tool, model, workload):
            answer = self.peers.ask(tool, model, workload, plan, warm=light, repeat=1)
            if "error" in answer:
                failure = answer["error"]
            else:
                timed.append((min(answer["seconds"]), plan))
        if not timed:
            self.add(model, workload, tool, error=failure)
            return None
        timed.sort(key=lambda pair: pair[0])
        self.ranked[tool, model, workload] = [plan for _, plan in timed]
        tried = [dict(seconds=round(second, 4), **plan) for second, plan in timed]
        self.results.add(section="tuning", model=model, workload=workload, tool=tool, tried=tried)
        return timed[0][1]

    def candidates(self, tool, model, workload):
        """All set-ups. On the large model, of the heavy workloads, only what was fastest on the small one."""
        known = self.ranked.get((tool, "minilm", workload))
        if known and model != "minilm" and workload in HEAVY:
            return known[:CHANCES]
        plans = [dict(variant=variant, allocator=allocator, order="sorted", batch=size)
                 for variant, allocator in self.setups(tool, model, workload)
                 for size in BATCHES[workload] if usable(tool, variant, workload, size)]
        if self.quick:  # the last of each variant
            plans = list({plan["variant"]: plan for plan in plans if plan["variant"] not in COMPILED}.values())
        return plans

    def setups(self, tool, model, workload):
        """For the heavy workloads: the best of 8 x 128, and what makes sense only there."""
        known = [(plan["variant"], plan["allocator"]) for plan in self.ranked.get((tool, model, "8x128"), [])]
        best = [setup for setup in known if setup[0] not in COMPILED][:CHANCES]
        for variant in TOOLS[tool].VARIANTS:
            for allocator in allocators(tool, variant):
                special = variant in COMPILED or (tool, variant) in SIDE_BY_SIDE
                if workload not in HEAVY or not best or special or (variant, allocator) in best:
                    yield variant, allocator

    def agreements(self, model, workload, chosen):
        """Each tool's numbers beside those of PyTorch's plain attention."""
        reference = SCRATCH / f"reference-{model}-{workload}.npy"
        if not reference.exists():
            plan = dict(variant="eager", allocator="system", order="sorted", batch=8)
            self.peers.ask("torch", model, workload, plan, warm=0, repeat=0, out=reference)
        expected, out = np.load(reference), SCRATCH / "output.npy"
        found = {}
        for tool, plan in {**chosen, "oxibert": None}.items():
            out.unlink(missing_ok=True)
            if plan:
                answer = self.peers.ask(tool.split("-")[0], model, workload, plan, warm=0, repeat=0, out=out)
            else:
                answer = self.oxibert(model, workload, "--repeat", 1, "--out", out)
            agreement = difference(np.load(out), expected) if out.exists() else dict(error=answer.get("error"))
            agreement["equal"] = agreement.get("max_difference", np.inf) <= TOLERANCE
            found[tool] = agreement
        return found


def allocators(tool, variant):
    if tool != "torch":
        return ["system"]
    return ["reuse"] if variant in COMPILED else list(ALLOCATORS)


def usable(tool, variant, workload, size):
    """Batches side by side need several batches; the others gain nothing from cutting 8 x 128."""
    whole = size == max(BATCHES[workload])
    if size == LARGEST and tool != "ctranslate2":
        return False
    if (tool, variant) in SIDE_BY_SIDE:
        return workload == "ragged" or not whole
    if variant == "compiled":  # a program for one shape
        return workload != "ragged" and whole
    if variant == "compiled-any":  # a program for all shapes
        return workload == "ragged" and size in (16, 32)
    return workload in HEAVY or whole
