"""BERT written with ONNX Runtime's fused operators (Attention, SkipLayerNormalization, BiasGelu, EmbedLayerNormalization):
what its optimizer makes of older exports, and the fastest graph that it has for BERT on CPUs."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

EPSILON = 1e-12


class Graph:
    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], []

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def matrix(self, name):
        return self.constant(name, self.weights[name].T)

    def node(self, operator, inputs, output, domain="com.microsoft", extra=(), **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output, *extra], domain=domain, **attributes))
        return output


def embeddings(graph):
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        graph.node("Cast", [name], f"{name}_32", domain="", to=TensorProto.INT32)
    tables = [graph.weight(f"embeddings.{table}_embeddings.weight") for table in ("word", "position", "token_type")]
    norm = [graph.weight(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")]
    return graph.node("EmbedLayerNormalization", ["input_ids_32", "token_type_ids_32", *tables, *norm], "embedded",
                      extra=[""], epsilon=EPSILON)


def add_and_norm(graph, dense, norm, x, residual, output):
    """LayerNorm(x W + b + residual)."""
    product = graph.node("MatMul", [x, graph.matrix(f"{dense}.weight")], f"{output}.product", domain="")
    parts = [graph.weight(f"{norm}.weight"), graph.weight(f"{norm}.bias"), graph.weight(f"{dense}.bias")]
    return graph.node("SkipLayerNormalization", [product, residual, *parts], output, epsilon=EPSILON)


def block(graph, layer, heads, x, output):
    prefix = f"encoder.layer.{layer}"
    own = [f"{prefix}.attention.self.{part}" for part in ("query", "key", "value")]
    weight = graph.constant(f"{prefix}.qkv", np.concatenate([graph.weights[f"{name}.weight"].T for name in own], 1))
    bias = graph.constant(f"{prefix}.qkv_bias", np.concatenate([graph.weights[f"{name}.bias"] for name in own]))
    y = graph.node("Attention", [x, weight, bias, "attention_mask_32"], f"{prefix}.attended", num_heads=heads)
    attention = f"{prefix}.attention.output"
    x = add_and_norm(graph, f"{attention}.dense", f"{attention}.LayerNorm", y, x, f"{attention}.normed")
    inner = f"{prefix}.intermediate.dense"
    y = graph.node("MatMul", [x, graph.matrix(f"{inner}.weight")], f"{inner}.product", domain="")
    y = graph.node("BiasGelu", [y, graph.weight(f"{inner}.bias")], f"{inner}.activated")
    return add_and_norm(graph, f"{prefix}.output.dense", f"{prefix}.output.LayerNorm", y, x, output)


def pooler(graph, hidden):
    first = graph.node("Gather", [hidden, graph.constant("zero", np.array(0, np.int64))], "first", domain="", axis=1)
    dense = graph.node("Gemm", [first, graph.weight("pooler.dense.weight"), graph.weight("pooler.dense.bias")],
                       "pooled", domain="", transB=1)
    graph.node("Tanh", [dense], "pooler_output", domain="")


def write(model, shape, path):
    graph = Graph({name: tensor.detach().numpy() for name, tensor in model.state_dict().items()})
    x = embeddings(graph)
    for layer in range(shape["layers"]):
        last = layer == shape["layers"] - 1
        x = block(graph, layer, shape["heads"], x, "last_hidden_state" if last else f"hidden_{layer + 1}")
    pooler(graph, x)
    ids = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
           for name in ("input_ids", "attention_mask", "token_type_ids")]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", shape["hidden"]]),
               helper.make_tensor_value_info("pooler_output", TensorProto.FLOAT, ["batch", shape["hidden"]])]
    operators = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    body = helper.make_graph(graph.nodes, "bert", ids, outputs, graph.constants)
    save(helper.make_model(body, opset_imports=operators, ir_version=9), path)
