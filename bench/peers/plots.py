"""The pictures of bench/plots."""
import statistics

import workloads
from svg import Canvas, grid
from tables import MODELS, NAMES, PEERS, TRAINING, WORKLOADS, title, torch_memory

TITLES = {"inference": "Inference: useful arithmetic per second", "training": "Training steps beside PyTorch",
          "length": "Cost against length", "batch": "Cost against batch"}
TOOLS = ("oxibert", *PEERS)
CURVES = ("oxibert", "ctranslate2", "torch")


def write_all(summary, directory):
    directory.mkdir(parents=True, exist_ok=True)
    for name, draw in (("inference", inference), ("training", training), ("length", length), ("batch", batch)):
        canvas = draw(summary)
        if canvas:
            canvas.save(directory / f"{name}.svg")


def inference(summary):
    """Bars of GFLOP/s, which makes 1 x 128 and ragged comparable; padding is no useful work."""
    groups = []
    for model in MODELS:
        for workload in WORKLOADS:
            at = dict(model=model, workload=workload)
            work = summary.work("inference", **at)
            medians = {tool: summary.median("inference", tool=tool, **at) for tool in TOOLS}
            if work and medians["oxibert"]:
                groups.append((model, workload, {tool: work / median for tool, median in medians.items() if median}))
    if not groups:
        return None
    peak = summary.figure("inference", "peak_gflops_per_s", tool="oxibert")
    canvas = Canvas(860, 420, TITLES["inference"], f"GFLOP/s, padding not counted; {threads(summary, 'inference')} threads, f32; higher is better")
    canvas.legend(TOOLS, NAMES, 80)
    left, right, bottom, tall = 64, 836, 356, 250
    top = max(peak, *(max(bars.values()) for _, _, bars in groups)) * 1.04
    scale = grid(canvas, left, right, bottom, tall, top)
    canvas.line(left, bottom - scale(peak), right, bottom - scale(peak), "mark", "5 4")
    canvas.text(right, bottom - scale(peak) - 6, "the processor's measured peak", "soft small", "end")
    draw_groups(canvas, groups, left, right, bottom, scale)
    return canvas


def draw_groups(canvas, groups, left, right, bottom, scale):
    gap = 28 if len({model for model, _, _ in groups}) > 1 else 0
    slot = (right - left - gap) / len(groups)
    wide = slot * 0.8 / len(TOOLS)
    first = groups[0][0]
    centers = {}
    for number, (model, workload, bars) in enumerate(groups):
        x = left + number * slot + (gap if model != first else 0)
        for place, tool in enumerate(TOOLS):
            if tool in bars:
                tall = scale(bars[tool])
                canvas.bar(x + slot * 0.1 + place * wide, bottom - tall, wide - 2, tall, tool, f"{NAMES[tool]}: {bars[tool]:.0f} GFLOP/s")
        canvas.text(x + slot / 2, bottom + 20, title(workload), "ink", "middle")
        canvas.text(x + slot * 0.1 + wide / 2 - 1, bottom - scale(bars["oxibert"]) - 5, f"{bars['oxibert']:.0f}", "ink small strong", "middle")
        centers.setdefault(model, []).append(x + slot / 2)
    for model, places in centers.items():
        canvas.text(statistics.mean(places), bottom + 42, MODELS[model], "ink strong", "middle")


def training(summary):
    """Two panels: seconds and memory, PyTorch's being 1."""
    rows = []
    for name, (label, batches, _) in TRAINING.items():
        ours, theirs = (summary.median("training", workload=name, tool=tool) for tool in ("oxibert", "torch"))
        if ours and theirs:
            memory = summary.figure("training", "peak_memory_mb", workload=name, tool="oxibert"), torch_memory(summary, name)
            rows.append((label, (ours / batches, theirs / batches), memory))
    if not rows:
        return None
    canvas = Canvas(860, 130 + 84 * len(rows), TITLES["training"], f"{threads(summary, 'training')} threads, f32; lower is better")
    canvas.legend(("oxibert", "torch"), NAMES, 80)
    canvas.text(300, 80, "seconds per step", "ink strong")
    canvas.text(590, 80, "peak memory, GB", "ink strong")
    for number, (label, seconds, memory) in enumerate(rows):
        y = 104 + 84 * number
        for part, line in enumerate(label.split(", ")):
            canvas.text(24, y + 18 + 18 * part, line, "ink strong" if part == 0 else "soft")
        pair(canvas, 300, y, seconds, lambda value: f"{value:.2f}", max(second for _, pairs, _ in rows for second in pairs))
        pair(canvas, 590, y, memory, lambda value: f"{value / 1000:.2f}", max(mb for _, _, pairs in rows for mb in pairs))
    return canvas


def pair(canvas, x, y, values, shown, most):
    wide = 200
    for place, (tool, value) in enumerate(zip(("oxibert", "torch"), values)):
        length = max(2.0, wide * value / most)
        top = y + 4 + 28 * place
        canvas.add(f'<rect class="fill {tool}" x="{x}" y="{top}" width="{length:.1f}" height="22" rx="3"/>')
        canvas.text(x + length + 8, top + 16, shown(value), "ink strong" if tool == "oxibert" else "ink")


def length(summary):
    points = curve_points(summary, "length", workloads.LENGTHS, lambda seconds, size: 1e6 * seconds / size / workloads.LENGTH_BATCH)
    about = f"microseconds per token, BERT-base, {workloads.LENGTH_BATCH} sequences; {threads(summary, 'curves')} threads, f32; lower is better"
    return draw_curves("length", points, about, "tokens of a sequence")


def batch(summary):
    points = curve_points(summary, "batch", workloads.BATCHES, lambda seconds, size: 1e3 * seconds / size)
    about = f"milliseconds per sequence, BERT-base, 128 tokens each; {threads(summary, 'curves')} threads, f32; lower is better"
    return draw_curves("batch", points, about, "sequences of a batch")


def curve_points(summary, kind, sizes, cost):
    points = {}
    for tool in CURVES:
        medians = [(size, summary.median("curves", workload=f"{kind}-{size}", tool=tool)) for size in sizes]
        points[tool] = [(size, cost(median, size)) for size, median in medians if median]
    return points if all(points.values()) else None


def draw_curves(name, points, about, axis):
    if not points:
        return None
    canvas = Canvas(860, 400, TITLES[name], about)
    canvas.legend(CURVES, NAMES, 80)
    left, right, bottom, tall = 72, 830, 336, 226
    sizes = sorted({size for curve in points.values() for size, _ in curve})
    scale = grid(canvas, left, right, bottom, tall, max(value for curve in points.values() for _, value in curve) * 1.08)
    place = {size: left + 24 + (right - left - 48) * number / max(1, len(sizes) - 1) for number, size in enumerate(sizes)}
    for size, x in place.items():
        canvas.text(x, bottom + 20, size, "ink", "middle")
    canvas.text((left + right) / 2, bottom + 44, axis, "soft", "middle")
    for tool in reversed(CURVES):  # ours on top
        canvas.curve([(place[size], bottom - scale(value)) for size, value in points[tool]], tool)
    return canvas


def threads(summary, section):
    return max((line["threads"] for line in summary.select(section)), default=0)
