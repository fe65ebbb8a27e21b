"""Training steps: PyTorch's fastest set-up is looked for, losses without dropout are compared, then both take turns."""
import workloads
from common import MODELS, read_json
from workers import ALLOCATORS, Worker, oxibert

# name: model, task, repetitions per round (one of fine-tuning is five batches)
TASKS = {
    "train-base": ("base", "pretraining", 3),
    "train-mini": ("mini", "pretraining", 5),
    "train-finetune": ("base", "classification", 1),
}
SETUPS = [dict(attention=attention, optimizer=optimizer, compiled=False, allocator=allocator)
          for allocator in ALLOCATORS for attention in ("sdpa", "eager") for optimizer in ("fused", "default")]
COMPILED = dict(attention="sdpa", optimizer="fused", compiled=True, allocator="reuse")
QUICK_SETUPS = [dict(attention="sdpa", optimizer="fused", compiled=False, allocator="reuse")]
FRUGAL = dict(attention="sdpa", optimizer="fused", compiled=False, allocator="system")
CHANCES = 2  # how many set-ups that were fast in pretraining are tried for fine-tuning
CHECKED_STEPS = 2  # after the one to warm up: losses then depend on gradients and AdamW
TOLERANCE = 2e-3  # of a loss, relative


class Training:
    def __init__(self, results, rounds, threads, quick):
        self.results, self.rounds, self.threads, self.quick = results, rounds, threads, quick
        self.ranked = {}

    def run(self):
        for name in TASKS:
            self.compare_and_time(name)

    def compare_and_time(self, name):
        model, task, repeat = TASKS[name]
        agreement = self.agreement(name)
        setup = self.tune(name)
        worker = self.worker(setup)  # a new process: its peak memory is this task's alone
        for number in range(self.rounds):
            answer = self.oxibert(name, "hf", 1 if self.quick else repeat)
            self.add(name, "oxibert", round=number, agreement=agreement, **answer)
            warm = [largest(name)] if number == 0 else []
            answer = self.torch(worker, name, "hf", setup, fresh=number == 0, warm=warm, repeat=1 if self.quick else repeat)
            self.add(name, "torch", round=number, plan=setup, agreement=dict(equal=True, reference=True), **answer)
        worker.close()
        self.measure_memory(name)

    def worker(self, setup):
        return Worker("train", threads=self.threads, allocator=setup["allocator"])

    def oxibert(self, name, directory, repeat, threads=None):
        model = MODELS / TASKS[name][0] / directory
        ids = workloads.path(name)
        return oxibert("--model", model, "--train", "--ids", ids, "--repeat", repeat, threads=threads or self.threads)

    def torch(self, worker, name, directory, setup, **request):
        model, task, _ = TASKS[name]
        known = dict(task=task, model=f"{model}/{directory}", workload=workloads.path(name), setup=setup)
        return worker.ask(**known, **request)

    def add(self, name, tool, **fields):
        self.results.add(section="training", model=TASKS[name][0], workload=name, tool=tool, threads=self.threads, **fields)

    def agreement(self, name):
        """The same weights, batches and recipe without dropout: the losses of the first steps."""
        setup = dict(attention="eager", optimizer="default", compiled=False, allocator="system")
        repeat = CHECKED_STEPS if TASKS[name][1] == "pretraining" else 1
        ours = self.oxibert(name, "hf-plain", repeat)
        worker = self.worker(setup)
        theirs = self.torch(worker, name, "hf-plain", setup, fresh=True, warm=[largest(name)], repeat=repeat)
        worker.close()
        if "error" in ours or "error" in theirs:
            return dict(error=ours.get("error") or theirs.get("error"), equal=False)
        pairs = list(zip(ours["losses"], theirs["losses"], strict=True))
        worst = max(abs(a - b) / abs(b) for a, b in pairs)
        return dict(losses=pairs, relative_difference=worst, equal=worst <= TOLERANCE)

    def tune(self, name):
        """The fastest set-up: the largest batch once to warm up, then once by the clock."""
        timed, first, workers = [], largest(name), {}
        for setup in self.setups(name):
            if setup["allocator"] not in workers:
                workers[setup["allocator"]] = self.worker(setup)
            worker = workers[setup["allocator"]]
            answer = self.torch(worker, name, "hf", setup, fresh=True, warm=[first], run=[first], repeat=1)
            timed.append((min(answer.get("seconds", [float("inf")])), setup))
        for worker in workers.values():
            worker.close()
        timed.sort(key=lambda pair: pair[0])
        self.ranked[name] = [setup for _, setup in timed]
        tried = [dict(seconds=second, **setup) for second, setup in timed]
        self.results.add(section="tuning", model=TASKS[name][0], workload=name, tool="torch", tried=tried)
        return timed[0][1]

    def setups(self, name):
        if self.quick:
            return QUICK_SETUPS
        if TASKS[name][1] == "pretraining":
            return [*SETUPS, COMPILED]
        fast = [setup for setup in self.ranked["train-base"] if not setup["compiled"]]  # shapes change from batch to batch
        return fast[:CHANCES]

    def measure_memory(self, name):
        """An allocator that reuses memory may hold more of it. PyTorch's memory is what it needs without one."""
        worker = self.worker(FRUGAL)
        answer = self.torch(worker, name, "hf", FRUGAL, fresh=True, warm=[largest(name)] * 2, repeat=0)
        self.results.add(section="memory", model=TASKS[name][0], workload=name, tool="torch", plan=FRUGAL, **answer)
        worker.close()


def largest(name):
    batches = read_json(workloads.path(name))["batches"]
    return max(range(len(batches)), key=lambda number: sum(map(len, batches[number]["ids"])))
