"""The run itself: machine, versions, command. A figure without them means nothing."""
import os
import platform
import shlex
import subprocess
import sys
import time
from importlib.metadata import version

from common import OXIBERT, REPOSITORY

PACKAGES = ("torch", "transformers", "onnxruntime", "openvino", "ctranslate2", "tokenizers")


def run_line(chosen):
    return dict(section="run", date=time.strftime("%Y-%m-%d"), quick=chosen.quick, threads=chosen.threads, rounds=chosen.rounds,
                machine=machine(), versions=versions(), command=shlex.join(["bench/run", *sys.argv[1:]]))


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} cores of {model}, {gigabytes:.0f} GB, {platform.system()} {platform.release().split('-')[0]}"


def versions():
    ours = subprocess.run([OXIBERT, "--version"], capture_output=True, text=True).stdout.split()[-1]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=REPOSITORY).stdout.strip()
    python = platform.python_version()
    return {"oxibert": f"{ours} ({commit})", **{name: version(name) for name in PACKAGES}, "Python": python}
