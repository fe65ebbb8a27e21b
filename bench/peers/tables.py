"""The part of RESULTS.md that bench/run writes."""
import re

import workloads

NAMES = {"oxibert": "oxibert", "torch": "PyTorch", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO",
         "ctranslate2": "CTranslate2", "transformers": "transformers", "torch-arrival": "PyTorch, arrival order"}
MODELS = {"minilm": "MiniLM", "base": "BERT-base"}
PEERS = ("torch", "onnxruntime", "openvino", "ctranslate2")
WORKLOADS = ("1x128", "8x128", "32x128", "ragged")
SIZES = {"1x128": 1, "8x128": 8, "32x128": 32, "ragged": workloads.RAGGED}
# What is asked of oxibert: how many times the speed of the fastest peer. A missed bar is marked.
INFERENCE_BARS = {"1x128": 1.0, "8x128": 1.0, "32x128": 1.0, "ragged": 1.3}
ARRIVAL_BAR = 3.0
TRAINING = {  # title, batches of a repetition, bar
    "train-base": ("BERT-base, MLM + NSP, 8 x 128", 1, 1.4),
    "train-mini": ("4 layers of 256, MLM + NSP, 32 x 128", 1, 2.0),
    "train-finetune": ("BERT-base, 2 classes, 16 ragged texts", 5, 2.5),
}
MEMORY_BAR, COLD_BAR, SCALING_BAR = 0.65, 0.15, 1.85
PEAK_BARS = {"forward": 0.75, "training": 0.70}
BEGIN, END = "<!-- written by bench/run: begin -->", "<!-- written by bench/run: end -->"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def against(value, bar, most=False):
    """The figure beside its bar."""
    met = value <= bar if most else value >= bar
    return "met" if met else f"**missed** ({value / bar - 1:+.0%})"


def inference(summary):
    rows, arrivals = [], []
    for model in MODELS:
        for workload in WORKLOADS:
            at = dict(model=model, workload=workload)
            ours, peers = summary.median("inference", tool="oxibert", **at), summary.peers("inference", **at)
            if not ours or not peers:
                continue
            speeds = [speed(summary, tool, at) for tool in ("oxibert", *PEERS)]
            ratio, bar = min(peers.values()) / ours, INFERENCE_BARS[workload]
            rows.append([f"{MODELS[model]}, {title(workload)}", *speeds, f"**{ratio:.2f}**", bar, against(ratio, bar)])
            arrival = summary.median("inference", tool="torch-arrival", **at)
            if arrival:
                arrivals.append([MODELS[model], f"{SIZES[workload] / arrival:.1f}", f"**{arrival / ours:.2f}**", ARRIVAL_BAR,
                                 against(arrival / ours, ARRIVAL_BAR)])
    head = ["sequences/s", *(NAMES[tool] for tool in ("oxibert", *PEERS)), "ours / fastest peer", "bar", ""]
    return INFERENCE_NOTE + "\n" + table(head, rows) + "\n" + ARRIVAL_NOTE + "\n" + \
        table(["ragged", "PyTorch in arrival order", "ours / that", "bar", ""], arrivals)


INFERENCE_NOTE = """### Inference

To the last hidden state of every token and the pooled vector of every sequence. *Ragged*: 256 texts, lengths log-normal around 25 tokens, cut at 256;
peers sort them and take the batch size that is fastest for them.
"""
ARRIVAL_NOTE = "The same texts padded in arrival order, 32 at a time, which is what a plain loop does:\n"


def title(workload):
    return "ragged" if workload == "ragged" else workload.replace("x", " x ")


def speed(summary, tool, at):
    median = summary.median("inference", tool=tool, **at)
    return f"{SIZES[at['workload']] / median:.1f}" if median else summary.problem("inference", tool=tool, **at)


def training(summary):
    rows, memory = [], []
    for name, (label, batches, bar) in TRAINING.items():
        ours, theirs = (summary.median("training", workload=name, tool=tool) for tool in ("oxibert", "torch"))
        if not ours or not theirs:
            continue
        gflops = summary.work("training", workload=name) / ours
        share = gflops / summary.figure("training", "peak_gflops_per_s", workload=name, tool="oxibert")
        rows.append([label, f"{ours / batches:.3f}", f"{theirs / batches:.3f}", f"**{theirs / ours:.2f}**", bar,
                     against(theirs / ours, bar), f"{gflops:.0f}", f"{share:.0%}"])
        memory.append(memory_row(summary, name, label))
    head = ["seconds per step", "oxibert", "PyTorch", "ours / PyTorch's speed", "bar", "", "our GFLOP/s", "of peak"]
    memory_head = ["peak memory, MB", "oxibert", "PyTorch", "share", "bar", ""]
    return TRAINING_NOTE + "\n" + table(head, rows) + "\n" + table(memory_head, memory)


TRAINING_NOTE = """### Training

Forward and backward with dropout, the gradient's norm clipped to 1, AdamW. `BertForPreTraining` computes logits at every position, oxibert where a token
is masked; that makes PyTorch's step of BERT-base 22 % more arithmetic, and that of the small model 49 %. It is what the library's users
run. Our GFLOP/s count what we compute. Fine-tuning pads to the longest text of each batch; oxibert has no padding. PyTorch's memory is the less of
its fastest set-up's and that of its default allocator.
"""


def memory_row(summary, name, label):
    ours = summary.figure("training", "peak_memory_mb", workload=name, tool="oxibert")
    theirs = torch_memory(summary, name)
    return [label, f"{ours:.0f}", f"{theirs:.0f}", f"**{ours / theirs:.0%}**", f"{MEMORY_BAR:.0%}",
            against(ours / theirs, MEMORY_BAR, most=True)]


def torch_memory(summary, name):
    found = [summary.figure(section, "peak_memory_mb", workload=name, tool="torch") for section in ("training", "memory")]
    return min(value for value in found if value)


def cold(summary):
    tools = [tool for tool in ("oxibert", "onnxruntime", "transformers") if summary.median("cold", tool=tool)]
    if "oxibert" not in tools:
        return ""
    medians = {tool: summary.median("cold", tool=tool) for tool in tools}
    labels = {**NAMES, "onnxruntime": "ONNX Runtime + tokenizers"}
    rows = [[labels[tool], f"{medians[tool]:.3f}", f"{medians[tool] / medians['oxibert']:.1f}",
             f"{summary.figure('cold', 'peak_memory_mb', tool=tool):.0f}"] for tool in tools]
    bar = against(medians["oxibert"], COLD_BAR, most=True)
    return f"### Cold start\n\nOne sentence to its vector with MiniLM, from starting the process to its end. The bar is {COLD_BAR} s: {bar}.\n\n" + \
        table(["", "seconds", "times ours", "peak memory, MB"], rows)


def scaling(summary):
    rows = []
    for workload in ("forward", "training"):
        counts = sorted({line["threads"] for line in summary.select("scaling", workload=workload)})
        if len(counts) < 2:
            continue
        one, many = (summary.median("scaling", workload=workload, threads=threads) for threads in (counts[0], counts[-1]))
        share = summary.figure("scaling", "share_of_peak", workload=workload, threads=counts[-1])
        bar = PEAK_BARS[workload]
        rows.append([f"BERT-base 8 x 128, {workload}", f"{one:.3f}", f"{many:.3f}", f"**{one / many:.2f}**", SCALING_BAR,
                     against(one / many, SCALING_BAR), f"**{share:.0%}**", f"{bar:.0%}", against(share, bar)])
    if not rows:
        return ""
    return "### Threads, and the share of the peak\n\n" + table(
        ["seconds", "1 thread", f"{counts[-1]} threads", "times as fast", "bar", "", "of the measured peak", "bar", ""], rows)


def setups(summary):
    """Which set-up was taken, and how far each tool's numbers are from the reference's."""
    rows = []
    for section in ("inference", "training"):
        seen = {(line["model"], line["workload"], line["tool"]): line for line in summary.select(section)}
        for (model, workload, tool), line in sorted(seen.items(), key=lambda pair: pair[0]):
            found = line.get("agreement", {})
            shown = apart(found) or summary.problem(section, model=model, workload=workload, tool=tool)
            rows.append([model, workload, NAMES[tool], describe(line.get("plan"), section), shown])
    return "<details><summary>Set-ups that were fastest, and how far the numbers are apart</summary>\n\n" + AGREEMENT_NOTE + "\n" + table(
        ["model", "work", "tool", "set-up", "largest difference"], rows) + "\n</details>\n"


def apart(agreement):
    if agreement.get("reference"):
        return "the reference"
    off = agreement.get("max_difference", agreement.get("relative_difference"))
    return f"{off:.1e}" if off is not None else None


AGREEMENT_NOTE = """Inference: the largest difference of any hidden or pooled number from PyTorch's plain attention; more than 1e-4 would be
called wrong and not counted. Training: the largest relative difference of the losses of the first steps, dropout off, AdamW's steps included; the bar is 2e-3.
"""


def describe(plan, section):
    if not plan:
        return "batches of up to 4096 tokens" if section == "inference" else "no padding"
    return ", ".join(f"{key} {value}" for key, value in plan.items() if value not in (False, None))


def noise(summary):
    foreign = [line["foreign"] for line in summary.lines if line.get("foreign") is not None and line["section"] != "cold"]
    if not foreign:
        return ""
    return f"Other processes took {sorted(foreign)[len(foreign) // 2]:.1%} of the cores in the middle, {max(foreign):.1%} at most.\n"


def write(path, text):
    """Puts the text between the markers; the rest of the file stays."""
    old = path.read_text() if path.exists() else "# Results\n"
    block = f"{BEGIN}\n{text}{END}\n"
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END) + "\n", re.S)
    if pattern.search(old):
        new = pattern.sub(lambda _: block, old)
    else:
        head, _, rest = old.partition("\n")
        new = f"{head}\n\n{block}{rest}"
    path.write_text(new)
