"""What only oxibert is asked (1 thread against 2), and cost against length and batch beside CTranslate2 and PyTorch."""
import workloads
from common import MODELS
from inference import Peers
from training import Training
from workers import oxibert


class Scaling:
    def __init__(self, results, rounds, threads, quick):
        self.results, self.rounds, self.threads, self.quick = results, rounds, threads, quick

    def run(self):
        training = Training(self.results, self.rounds, self.threads, self.quick)
        repeat = 1 if self.quick else 3
        for number in range(self.rounds):
            for threads in (1, self.threads):
                answer = oxibert("--model", MODELS / "base" / "hf", "--ids", workloads.path("8x128"), "--repeat", repeat, threads=threads)
                self.add("forward", threads, number, answer)
                answer = training.oxibert("train-base", "hf", (repeat + 1) // 2, threads=threads)
                self.add("training", threads, number, answer)

    def add(self, workload, threads, number, answer):
        self.results.add(section="scaling", model="base", workload=workload, tool="oxibert", threads=threads, round=number, **answer)


class Curves:
    """One fixed set-up per peer: the best of most cases. A point is the median of the rounds."""
    PLANS = {
        "ctranslate2": dict(variant="intra", allocator="system"),
        "torch": dict(variant="sdpa", allocator="reuse"),
    }

    def __init__(self, results, rounds, threads, quick):
        self.results, self.rounds, self.threads = results, rounds, threads
        names = [f"length-{length}" for length in workloads.LENGTHS] + [f"batch-{batch}" for batch in workloads.BATCHES]
        self.names = [name for name in names if name not in ("length-512", "batch-64", "batch-32")] if quick else names

    def run(self):
        peers = Peers(self.threads)
        for number in range(self.rounds):
            for name in self.names:
                self.point(peers, name, number)
        peers.close()

    def point(self, peers, name, number):
        light = tokens(name) <= 1024
        repeat = 3 if light else 1
        answers = {"oxibert": oxibert("--model", MODELS / "base" / "hf", "--ids", workloads.path(name), "--repeat", repeat,
                                      threads=self.threads)}
        for tool, plan in self.PLANS.items():
            plan = dict(order="sorted", batch=1 << 20, **plan)
            warm = int(light or number == 0)
            answers[tool] = peers.ask(tool, "base", name, plan, warm=warm, repeat=repeat)
        for tool, answer in answers.items():
            self.results.add(section="curves", model="base", workload=name, tool=tool, threads=self.threads, round=number, **answer)


def tokens(name):
    kind, size = name.split("-")
    return int(size) * (workloads.LENGTH_BATCH if kind == "length" else 128)
