"""The driver's side of serve.py, and oxibert: work is handed out, and everything that comes back is written down."""
import json
import os
import resource
import subprocess
import sys
import time
from ctypes.util import find_library
from pathlib import Path

import psutil

from common import HOME, OXIBERT, SCRATCH

SERVE = Path(__file__).with_name("serve.py")
QUIET = dict(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_PROGRESS_BARS="1", PYTHONWARNINGS="ignore",
             TOKENIZERS_PARALLELISM="false")
# PyTorch's tuning guide advises an allocator that reuses memory instead of giving every large tensor back to the system:
# tcmalloc or jemalloc. glibc's does the same if it is told never to map and never to trim; that saved a quarter of a
# training step here.
ALLOCATORS = {
    "system": {},
    "reuse": {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 34), "MALLOC_TOP_PAD_": str(1 << 26),
              "MALLOC_ARENA_MAX": "1"},
}
for library in map(find_library, ("tcmalloc_minimal", "jemalloc")):
    if library:
        ALLOCATORS[library] = {"LD_PRELOAD": library}
IDLE = 0.3  # seconds between turns: threads of the tool before stop spinning


def environment(threads, allocator="system"):
    own = {"OMP_NUM_THREADS": str(threads), "TORCHINDUCTOR_CACHE_DIR": str(HOME / "inductor")}
    return {**os.environ, **QUIET, **ALLOCATORS[allocator], **own}


class Load:
    """Which share of all cores others took meanwhile, and which share the hypervisor."""

    def __init__(self):
        self.before = self.now()

    @staticmethod
    def now():
        with open("/proc/stat") as stat:
            ticks = [int(field) for field in stat.readline().split()[1:9]]
        own = psutil.Process().cpu_times()
        busy = sum(ticks) - ticks[3] - ticks[4] - ticks[7]  # without idle, iowait, steal
        return time.perf_counter(), busy / os.sysconf("SC_CLK_TCK"), ticks[7] / os.sysconf("SC_CLK_TCK"), own.user + own.system

    def foreign(self, worker_s):
        wall, busy, steal, own = [after - before for after, before in zip(self.now(), self.before)]
        total = max(wall, 1e-6) * os.cpu_count()
        return dict(foreign=round(max(0.0, busy - own - worker_s) / total, 3), steal=round(steal / total, 3))


class Worker:
    """A process of serve.py."""

    def __init__(self, kind, *arguments, threads, allocator="system"):
        SCRATCH.mkdir(parents=True, exist_ok=True)
        self.log = open(SCRATCH / f"{'-'.join((kind, *map(str, arguments), allocator))}.log", "a")
        command = [sys.executable, SERVE, kind, *map(str, arguments), str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env=environment(threads, allocator))
        self.inspected = psutil.Process(self.process.pid)

    def cpu_s(self):
        times = self.inspected.cpu_times()
        return times.user + times.system + times.children_user + times.children_system

    def ask(self, **request):
        time.sleep(IDLE)
        load, cpu = Load(), self.cpu_s()
        self.process.stdin.write(json.dumps(request, default=str) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            return {"error": f"the process ended; its last words are in {self.log.name}"}
        return {**json.loads(line), **load.foreign(self.cpu_s() - cpu)}

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


def oxibert(*arguments, threads):
    """`oxibert bench`, to be timed; the answer is its JSON."""
    time.sleep(IDLE)
    load, before = Load(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [OXIBERT, "bench", "--json", "--threads", str(threads), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return {"error": done.stderr.strip()[:500]}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    answer = json.loads(done.stdout)
    for known in ("model", "threads", "train"):
        answer.pop(known)
    return {**answer, **load.foreign(cpu)}


class Results:
    """Every measurement as a line of JSON, and in memory for this run's tables."""

    def __init__(self, run):
        HOME.mkdir(parents=True, exist_ok=True)
        self.run, self.lines = run, []

    def add(self, **fields):
        line = dict(run=self.run, time=time.strftime("%Y-%m-%dT%H:%M:%S"), **fields)
        self.lines.append(line)
        with open(HOME / "results.jsonl", "a") as file:
            file.write(json.dumps(line, default=str) + "\n")
        shown = {key: line[key] for key in ("section", "model", "workload", "tool", "round", "error") if line.get(key) is not None}
        times = " ".join(f"{second:.3f}" for second in line.get("seconds", []))
        print(*shown.values(), times, f"foreign {line.get('foreign', '?')}", file=sys.stderr, flush=True)
        return line
