"""Training speed in tokens per second of oxibert and of PyTorch's nn.Transformer, in f32 and in bfloat16, in turn.

    speed.py OUT --oxibert PATH [--seconds 40] [--rounds 3] [--forms f32]

OUT is of bench/translate/run, which made the pairs, the vocabulary and the weights that all begin with. Tokens are those of both sides,
without padding. The first ten steps of oxibert are not counted (it measures the processor meanwhile); PyTorch gets a turn that does not count.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 10


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--oxibert", required=True)
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--forms", nargs="+", choices=("f32", "bf16"), default=("f32", "bf16"), help="bf16 only where the processor has it")
    return parser.parse_args()


def ours(chosen, flags, directory):
    subprocess.run([chosen.oxibert, "finetune", "translate", "--model", "small", "--vocab", chosen.out / "vocab", "--train", chosen.out / "train.tsv",
                    "--dev", chosen.out / "dev.tsv", "--eval-pairs", "1", "--batch-tokens", "2048", "--threads", "2", "--time-budget", f"{chosen.seconds}s",
                    "--eval-every", "100000", "--quiet", "--out", directory / "run", *flags], check=True, stdout=subprocess.DEVNULL)
    journal = map(json.loads, (directory / "run/metrics.jsonl").read_text().splitlines())
    steps = [line for line in journal if line["kind"] == "step" and line["step"] > SKIPPED]
    return sum(line["tokens"] for line in steps) / sum(line["tokens"] / line["tokens_per_second"] for line in steps)


def theirs(chosen, flags, directory, seconds=None):
    said = subprocess.run([sys.executable, Path(__file__).parent / "torch_twin.py", "--start", chosen.out / "start", "--train", chosen.out / "train.tsv",
                           "--seconds", str(seconds or chosen.seconds), "--snapshots", "1", "--out", directory / "run", *flags], check=True, capture_output=True)
    return json.loads(said.stdout)["tokens_per_second"]


def main():
    chosen = options()
    flags = {"f32": [], "bf16": ["--bf16"]}
    turns = [(f"{name} {form}", measure, flags[form]) for form in chosen.forms for name, measure in (("oxibert", ours), ("PyTorch", theirs))]
    speeds = {name: [] for name, _, _ in turns}
    with tempfile.TemporaryDirectory() as directory:
        theirs(chosen, [], Path(directory) / "warm", 5)
    for _ in range(chosen.rounds):
        for name, measure, flags in turns:
            with tempfile.TemporaryDirectory() as directory:
                speeds[name].append(round(measure(chosen, flags, Path(directory))))
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    ratios = {form: round(medians[f"oxibert {form}"] / medians[f"PyTorch {form}"], 2) for form in chosen.forms}
    print(json.dumps(dict(tokens_per_second=speeds, medians=medians, ratios=ratios)))


main()
