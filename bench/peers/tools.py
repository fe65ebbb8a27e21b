"""The peers: how each is loaded, set up as its own documentation advises for CPUs, and run over batches.

A tool has `prepare(batches of id lists)` (outside the clock: padding, tensors) and `run(prepared)` (inside: to the last
hidden state and the pooled vectors as arrays). VARIANTS are its set-ups; the driver tries them and takes the fastest.
SIDE_BY_SIDE are variants that run several batches at once.
"""
from concurrent.futures import ThreadPoolExecutor

from common import MODELS, pad


class Torch:
    """transformers' BertModel in inference mode."""
    VARIANTS = ("sdpa", "eager", "compiled", "compiled-any")

    def __init__(self, model, variant, threads):
        import torch
        from transformers import BertModel
        self.torch = torch
        torch.set_num_threads(threads)
        attention = "eager" if variant == "eager" else "sdpa"
        self.model = BertModel.from_pretrained(MODELS / model / "hf", attn_implementation=attention).eval()
        if variant.startswith("compiled"):
            self.model = torch.compile(self.model, dynamic=variant == "compiled-any")

    def prepare(self, batches):
        return [[self.torch.from_numpy(part) for part in pad(batch)] for batch in batches]

    def run(self, prepared):
        outputs = []
        with self.torch.inference_mode():
            for ids, mask in prepared:
                out = self.model(input_ids=ids, attention_mask=mask)
                outputs.append((out.last_hidden_state.numpy(), out.pooler_output.numpy()))
        return outputs


class OnnxRuntime:
    """Sessions over three graphs: its operators for BERT written directly, its optimizer's result, the plain export."""
    VARIANTS = ("fused", "optimized", "export")

    def __init__(self, model, variant, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        path = MODELS / model / f"{variant}.onnx"
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def prepare(self, batches):
        return [inputs(batch) for batch in batches]

    def run(self, prepared):
        return [tuple(self.session.run(["last_hidden_state", "pooler_output"], batch)) for batch in prepared]


class OpenVino:
    """Compiled for latency (all threads on one batch), or for throughput (a stream per thread, batches in a queue)."""
    VARIANTS = ("latency", "throughput")

    def __init__(self, model, variant, threads):
        import openvino
        streams = threads if variant == "throughput" else 1
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": variant.upper(), "NUM_STREAMS": streams,
                    "INFERENCE_PRECISION_HINT": "f32"}
        path = MODELS / model / "openvino" / "model.xml"
        self.compiled = openvino.Core().compile_model(path, "CPU", settings)
        self.queue = openvino.AsyncInferQueue(self.compiled, streams) if streams > 1 else None
        self.request = self.compiled.create_infer_request()

    def prepare(self, batches):
        return [inputs(batch) for batch in batches]

    def run(self, prepared):
        if self.queue:
            return self.run_queue(prepared)
        return [self.outputs(self.request.infer(batch, share_inputs=True)) for batch in prepared]

    def run_queue(self, prepared):
        outputs = [None] * len(prepared)
        def keep(request, number):
            outputs[number] = self.outputs(request.results)
        self.queue.set_callback(keep)
        for number, batch in enumerate(prepared):
            self.queue.start_async(batch, number, share_inputs=True)
        self.queue.wait_all()
        return outputs

    def outputs(self, results):
        return results[0].copy(), results[1].copy()


class CTranslate2:
    """Its encoder skips padding by itself. All threads on one batch, or a thread per batch."""
    VARIANTS = ("intra", "inter")

    def __init__(self, model, variant, threads):
        import ctranslate2
        side_by_side = threads if variant == "inter" else 1
        self.encoder = ctranslate2.Encoder(str(MODELS / model / "ctranslate2"), device="cpu", compute_type="float32",
                                           inter_threads=side_by_side, intra_threads=threads // side_by_side)
        self.pool = ThreadPoolExecutor(side_by_side) if side_by_side > 1 else None

    def prepare(self, batches):
        return batches

    def run(self, prepared):
        return list(self.pool.map(self.forward, prepared)) if self.pool else [self.forward(batch) for batch in prepared]

    def forward(self, batch):
        import numpy
        out = self.encoder.forward_batch(batch)
        return numpy.array(out.last_hidden_state), numpy.array(out.pooler_output)


def inputs(batch):
    ids, mask = pad(batch)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0}


TOOLS = {"torch": Torch, "onnxruntime": OnnxRuntime, "openvino": OpenVino, "ctranslate2": CTranslate2}
SIDE_BY_SIDE = {("openvino", "throughput"), ("ctranslate2", "inter")}
