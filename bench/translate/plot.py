"""BLEU against minutes, oxibert beside PyTorch, as one SVG: `plot.py OUT TITLE FILE.svg [HOW]`, with OUT of bench/translate/run; HOW is what
is to be said of our run, such as bfloat16.

Both curves are of the same dev sentences, translated greedily by oxibert.
"""
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "peers"))
from svg import Canvas, grid, nice_step  # noqa: E402

NAMES = {"oxibert": ", ".join(["oxibert", *sys.argv[4:]]), "torch": "PyTorch, nn.Transformer, f32"}
LEFT, RIGHT, BOTTOM, TALL = 64, 680, 330, 220


def points(out):
    journal = map(json.loads, (out / "oxibert/metrics.jsonl").read_text().splitlines())
    ours = [(line["seconds"] / 60, line["bleu"]) for line in journal if line["kind"] == "evaluation"]
    snapshots = map(json.loads, (out / "torch-curve.jsonl").read_text().splitlines())
    return {"oxibert": ours, "torch": [(float(line["model"].removeprefix("minute-")), line["bleu"]) for line in snapshots]}


def main():
    out, title, target = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    curves = points(out)
    end = max(minute for curve in curves.values() for minute, _ in curve)
    canvas = Canvas(720, 380, title, "BLEU of 200 dev sentences, greedy, against minutes of training; 2 threads; higher is better")
    canvas.legend(NAMES, NAMES, 80)
    scale = grid(canvas, LEFT, RIGHT, BOTTOM, TALL, 1.08 * max(bleu for curve in curves.values() for _, bleu in curve))
    step = nice_step(end, 6)
    for number in range(int(end / step * 1.0001) + 1):
        canvas.text(LEFT + (RIGHT - LEFT) * number * step / end, BOTTOM + 20, f"{number * step:g} min", "soft small", "middle")
    for tool, curve in curves.items():
        canvas.curve([(LEFT + (RIGHT - LEFT) * minute / end, BOTTOM - scale(bleu)) for minute, bleu in curve], tool)
        canvas.text(RIGHT, BOTTOM - scale(curve[-1][1]) - 8, f"{curve[-1][1]:.1f}", "ink strong", "end")
    canvas.save(target)


main()
