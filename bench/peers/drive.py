"""Runs oxibert and its peers in turn, and writes bench/RESULTS.md and bench/plots. Started by bench/run."""
import time

import workloads
from inference import Inference
from training import Training
from options import SECTIONS, options
from workers import Results

def main():
    chosen = options()
    workloads.write_all()
    results = Results(run=time.strftime("%Y%m%d-%H%M%S"))
    sections = {"inference": Inference, "training": Training}
    for name in SECTIONS:
        if name in chosen.only and name in sections:
            sections[name](results, chosen.rounds, chosen.threads, chosen.quick).run()


if __name__ == "__main__":
    main()
