"""The options of bench/run; needs nothing but Python, so that --help works before anything is installed."""
import argparse

ABOUT = "Runs oxibert and its peers in turn on this machine; writes bench/RESULTS.md and bench/plots."
SECTIONS = ("inference", "training", "cold", "scaling", "curves")


def options():
    parser = argparse.ArgumentParser(prog="bench/run", description=ABOUT)
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"which of {', '.join(SECTIONS)}, separated by commas")
    parser.add_argument("--rounds", type=int, help="how often the tools take turns [3; 1 with --quick]")
    parser.add_argument("--threads", type=int, default=2, help="threads of every tool [2]")
    parser.add_argument("--quick", action="store_true", help="one round, one repetition: to see that all works; the report goes to target/peers")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the report of what is stored")
    chosen = parser.parse_args()
    chosen.only = chosen.only.split(",")
    unknown = set(chosen.only) - set(SECTIONS)
    if unknown:
        parser.error(f"--only: {', '.join(unknown)}; expected some of {', '.join(SECTIONS)}")
    chosen.rounds = chosen.rounds or (1 if chosen.quick else 3)
    return chosen


if __name__ == "__main__":
    options()
