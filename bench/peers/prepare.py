"""Makes the models in every tool's own form. What exists is kept. Usage: prepare.py [MODEL ...]

  MODEL/hf            Hugging Face's directory, read by oxibert and PyTorch
  MODEL/hf-plain      the same without dropout, to compare training steps
  MODEL/*.onnx        for ONNX Runtime: the export, what its optimizer makes of it, its fused operators written directly
  MODEL/openvino.xml  MODEL/ctranslate2
"""
import json
import shutil
import sys

from common import MODELS, SHAPES

CONVERTED = ("base", "minilm")


def once(path, make):
    """Runs `make(temporary path)` unless `path` exists; a broken run leaves nothing that looks complete."""
    if path.exists():
        return
    print(f"making {path}", file=sys.stderr, flush=True)
    part = path.with_name(f"part-{path.name}")
    shutil.rmtree(part, ignore_errors=True)
    part.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(part)
    part.rename(path)


def make_hf(name, directory):
    """Random weights. Sharper than a fresh model's and with biases, so that a wrong mask, bias or norm shows."""
    import torch
    from transformers import BertConfig, BertForPreTraining
    shape = SHAPES[name]
    torch.manual_seed(0)
    model = BertForPreTraining(BertConfig(
        vocab_size=shape["vocab"], num_hidden_layers=shape["layers"], hidden_size=shape["hidden"],
        num_attention_heads=shape["heads"], intermediate_size=shape["inner"], initializer_range=0.04))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.02)
    model.save_pretrained(directory)
    write_vocabulary(directory, shape["vocab"])
    change_config(directory, position_embedding_type="absolute")  # CTranslate2's converter asks for it


def write_vocabulary(directory, size):
    """CTranslate2's converter and a cold start want a tokenizer; the ids of the workloads never meet it."""
    from tokenizers import BertWordPieceTokenizer
    special = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]"}
    tokens = [special.get(number, f"token{number}") for number in range(size)]
    vocabulary = directory / "vocab.txt"
    vocabulary.write_text("\n".join(tokens) + "\n")
    BertWordPieceTokenizer(str(vocabulary)).save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(json.dumps(dict(tokenizer_class="BertTokenizer", do_lower_case=True)))


def change_config(directory, **fields):
    path = directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}, indent=2))


def make_plain(hf, directory):
    directory.mkdir()
    shutil.copy(hf / "config.json", directory)
    change_config(directory, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    (directory / "model.safetensors").symlink_to((hf / "model.safetensors").resolve())


def bert(hf):
    from transformers import BertModel
    return BertModel.from_pretrained(hf, attn_implementation="eager").eval()


def make_export(hf, path):
    """PyTorch's current exporter. The one before it (dynamo=False) gives wrong hidden states with these versions."""
    import torch

    class Outputs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = bert(hf)

        def forward(self, input_ids, attention_mask, token_type_ids):
            out = self.bert(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
            return out.last_hidden_state, out.pooler_output

    ids = torch.randint(1000, 30000, (2, 16))
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    batch, length = torch.export.Dim("batch", min=1, max=4096), torch.export.Dim("length", min=2, max=512)
    torch.onnx.export(
        Outputs(), (ids, mask, torch.zeros_like(ids)), path, dynamo=True, external_data=False,
        dynamic_shapes=tuple({0: batch, 1: length} for _ in range(3)),
        input_names=["input_ids", "attention_mask", "token_type_ids"], output_names=["last_hidden_state", "pooler_output"])


def make_optimized(export, shape, path):
    """ONNX Runtime's own tool for transformers."""
    from onnxruntime.transformers import optimizer
    model = optimizer.optimize_model(str(export), model_type="bert", num_heads=shape["heads"],
                                     hidden_size=shape["hidden"], opt_level=1, use_gpu=False)
    print(model.get_fused_operator_statistics(), file=sys.stderr)
    model.save_model_to_file(str(path))


def make_fused(hf, shape, path):
    import fused_onnx
    fused_onnx.write(bert(hf), shape, path)


def make_loaded(fused, path):
    """The graph as ONNX Runtime has it after loading: the quickest to load again (its "offline mode")."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    onnxruntime.InferenceSession(str(fused), options, providers=["CPUExecutionProvider"])


def make_openvino(hf, directory):
    """From PyTorch, as OpenVINO's documentation advises; weights stay f32."""
    import openvino
    import torch
    ids = torch.ones((2, 16), dtype=torch.long)
    inputs = dict(input_ids=ids, attention_mask=ids, token_type_ids=ids * 0)
    from transformers import BertModel
    model = BertModel.from_pretrained(hf, attn_implementation="sdpa").eval()
    converted = openvino.convert_model(model, example_input=inputs)
    directory.mkdir()
    openvino.save_model(converted, directory / "model.xml", compress_to_fp16=False)


def make_ctranslate2(hf, directory):
    import ctranslate2
    ctranslate2.converters.TransformersConverter(str(hf)).convert(str(directory), quantization="float32")


def attempt(what, path, make):
    """A tool that cannot take the model is told of and left out."""
    failure = path.parent / f"failed-{what}"
    try:
        once(path, make)
        failure.unlink(missing_ok=True)
    except Exception as error:  # whatever a converter throws
        path.parent.mkdir(parents=True, exist_ok=True)
        print(f"{what} failed: {error!r}"[:2000], file=sys.stderr)
        failure.write_text(repr(error)[:500])


def convert(hf, shape, directory):
    attempt("export", directory / "export.onnx", lambda to: make_export(hf, to))
    attempt("optimized", directory / "optimized.onnx", lambda to: make_optimized(directory / "export.onnx", shape, to))
    attempt("fused", directory / "fused.onnx", lambda to: make_fused(hf, shape, to))
    attempt("loaded", directory / "loaded.onnx", lambda to: make_loaded(directory / "fused.onnx", to))
    attempt("openvino", directory / "openvino", lambda to: make_openvino(hf, to))
    attempt("ctranslate2", directory / "ctranslate2", lambda to: make_ctranslate2(hf, to))


def prepare(name):
    directory = MODELS / name
    hf = directory / "hf"
    once(hf, lambda to: (to.mkdir(), make_hf(name, to)))
    once(directory / "hf-plain", lambda to: make_plain(hf, to))
    if name in CONVERTED:
        convert(hf, SHAPES[name], directory)


def prepare_real():
    """The published MiniLM, for the cold start, where crates/oxibert/tests/models/fetch could install it."""
    from cold import REAL
    if REAL.exists():
        directory = MODELS / "minilm-real"
        attempt("fused", directory / "fused.onnx", lambda to: make_fused(REAL, SHAPES["minilm"], to))
        attempt("loaded", directory / "loaded.onnx", lambda to: make_loaded(directory / "fused.onnx", to))


if __name__ == "__main__":
    prepare_real()
    for chosen in sys.argv[1:] or SHAPES:
        prepare(chosen)
