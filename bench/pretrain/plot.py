"""The curves of `bench/pretrain/run` as one SVG: held-out loss and accuracy against time, oxibert beside PyTorch.

    plot.py OUT TITLE FILE.svg
"""
import json
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP, GAP = 420, 230, 52, 46, 40
TOOLS = {"oxibert": ("oxibert/metrics.jsonl", "#d1495b"), "PyTorch": ("torch.jsonl", "#30638e")}
CHARTS = {"mlm_loss": "held-out loss of masked tokens", "mlm_accuracy": "masked tokens right", "nsp_accuracy": "next sentences right"}


def points(path, figure):
    lines = map(json.loads, path.read_text().splitlines())
    return [(line["seconds"] / 60, line[figure]) for line in lines if line["kind"] == "evaluation"]


def ticks(low, high):
    step = next(s for s in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if (high - low) / s <= 6)
    first = int(low / step) * step
    return [first + i * step for i in range(20) if low - 1e-9 <= first + i * step <= high + 1e-9]


def chart(number, figure, title, curves):
    values = [value for points in curves.values() for _, value in points]
    end = max(minute for points in curves.values() for minute, _ in points)
    low, high = min(values), max(values)
    pad = 0.05 * (high - low or 1)
    low, high = low - pad, high + pad
    left = LEFT + number * (WIDTH + LEFT + GAP)
    x = lambda minute: left + WIDTH * minute / end
    y = lambda value: TOP + HEIGHT * (high - value) / (high - low)
    parts = [f'<text x="{left}" y="{TOP - 12}" font-weight="bold">{title}</text>']
    for value in ticks(low, high):
        parts.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#8884"/>')
        label = f"{100 * value:.0f} %" if "accuracy" in figure else f"{value:g}"
        parts.append(f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>')
    for minute in ticks(0, end):
        parts.append(f'<text x="{x(minute):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{minute:g} min</text>')
    lowest = min(curves, key=lambda tool: curves[tool][-1][1])
    for tool, curve in curves.items():
        path = " ".join(f"{x(minute):.1f},{y(value):.1f}" for minute, value in curve)
        colour = TOOLS[tool][1]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        minute, value = curve[-1]
        shown = f"{100 * value:.1f} %" if "accuracy" in figure else f"{value:.2f}"
        parts.append(f'<text x="{x(minute) - 4:.1f}" y="{y(value) + (18 if tool == lowest else -8):.1f}" text-anchor="end" fill="{colour}">{tool} {shown}</text>')
    return "\n".join(parts)


out, title, target = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
charts = []
for number, (figure, name) in enumerate(CHARTS.items()):
    curves = {tool: points(out / file, figure) for tool, (file, _) in TOOLS.items()}
    charts.append(chart(number, figure, name, curves))
width = len(CHARTS) * (WIDTH + LEFT + GAP)
target.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 40}" font-family="sans-serif" font-size="13" fill="#777">\n'
                  f'<text x="{LEFT}" y="16" font-size="15" font-weight="bold">{title}</text>\n' + "\n".join(charts) + "\n</svg>\n")
