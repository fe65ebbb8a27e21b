"""Runs oxibert and its peers in turn, and writes the report. Started by bench/run."""
import time

import about
import report
import workloads
from cold import Cold
from curves import Curves, Scaling
from inference import Inference
from options import SECTIONS, options
from training import Training
from workers import Results

KINDS = {"inference": Inference, "training": Training, "cold": Cold, "scaling": Scaling, "curves": Curves}


def main():
    chosen = options()
    if not chosen.report:
        measure(chosen)
    report.write(chosen.quick)


def measure(chosen):
    workloads.write_all()
    results = Results(run=time.strftime("%Y%m%d-%H%M%S"))
    results.add(**about.run_line(chosen))
    for name in SECTIONS:
        if name in chosen.only:
            KINDS[name](results, chosen.rounds, chosen.threads, chosen.quick).run()


if __name__ == "__main__":
    main()
