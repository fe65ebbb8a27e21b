"""One sentence from a cold process, with Python libraries. Usage: cold_peer.py onnxruntime|transformers HF_DIR ONNX THREADS

Prints the vector (mean of the tokens, length 1), so that it can be compared.
"""
import json
import sys

SENTENCE = "The quick brown fox jumps over the lazy dog."


def with_onnxruntime(directory, onnx, threads):
    import numpy
    import onnxruntime
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(f"{directory}/tokenizer.json")
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # the file is optimized already
    session = onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
    ids = numpy.array([tokenizer.encode(SENTENCE).ids])
    inputs = dict(input_ids=ids, attention_mask=numpy.ones_like(ids), token_type_ids=numpy.zeros_like(ids))
    vector = session.run(["last_hidden_state"], inputs)[0][0].mean(0)
    return vector / numpy.linalg.norm(vector)


def with_transformers(directory, _, threads):
    import torch
    from transformers import AutoModel, AutoTokenizer
    torch.set_num_threads(threads)
    tokenizer, model = AutoTokenizer.from_pretrained(directory), AutoModel.from_pretrained(directory).eval()
    with torch.inference_mode():
        vector = model(**tokenizer([SENTENCE], return_tensors="pt")).last_hidden_state[0].mean(0)
        return torch.nn.functional.normalize(vector, dim=0)


def main():
    tool, directory, onnx, threads = sys.argv[1:]
    embed = {"onnxruntime": with_onnxruntime, "transformers": with_transformers}[tool]
    print(json.dumps(embed(directory, onnx, int(threads)).tolist()))


if __name__ == "__main__":
    main()
