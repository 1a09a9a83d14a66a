"""TensorFlow reads what Belfry wrote, and Belfry what TensorFlow wrote.

    python checkpoint_peer_test.py PROGRAM          PROGRAM is the built tests/peers/checkpoint_peer
    python checkpoint_peer_test.py --make-data DIR  writes the checkpoint of tests/checkpoint/data, and values of others

Needs tensorflow-cpu 2.15 and numpy < 2.
"""
import json
import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

DTYPES = ["float32", "float64", "float16", "bfloat16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
          "uint32", "uint64", "complex64", "complex128"]
NAMES = ["net/fc1.weight", "a b:c", "ü/x", "日本", "plain", "net/fc.w/Adam/m"]


def flat(array):
    array = np.asarray(array)
    if array.dtype == object:
        return [value.hex() for value in array.reshape(-1)]
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind in "iub":
        return [int(value) for value in array.reshape(-1)]
    numbers = [float(value) for value in array.reshape(-1)]
    return [number if np.isfinite(number) else str(number) for number in numbers]  # JSON has no infinity


def described(array):
    array = np.asarray(array, object if isinstance(array, bytes) else None)
    dtype = "string" if array.dtype == object else array.dtype.name
    return {"dtype": dtype, "shape": list(array.shape), "values": flat(array)}


def values_of(prefix):
    reader = tf.train.load_checkpoint(prefix)
    return {name: described(reader.get_tensor(name)) for name in sorted(reader.get_variable_to_shape_map())}


def tensors():
    rng = np.random.default_rng(7)
    for dtype in DTYPES:
        numbers = rng.integers(0, 100, [3, 5])
        numbers = numbers > 50 if dtype == "bool" else numbers
        yield "type/" + dtype, tf.cast(tf.constant(numbers), dtype)
    yield "int64/large", tf.constant([2**63 - 1, -(2**63)], tf.int64)
    yield "uint64/large", tf.constant([2**64 - 1], tf.uint64)
    yield "float/special", tf.constant([np.inf, -np.inf, -0.0, 1e-45, 3.4e38], tf.float32)
    yield "scalar", tf.constant(42, tf.int64)
    yield "empty", tf.zeros([0, 3])
    yield "strings", tf.constant([["a", ""], ["\0\xff", "x" * 300]])
    yield "strings/scalar", tf.constant("alone")
    yield "strings/empty", tf.zeros([0], tf.string)
    for i, name in enumerate(NAMES):
        yield name, tf.fill([2, i], float(i))


def save(prefix, names, specs, values):
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=specs, tensors=values)


def write_with_tensorflow(directory):
    """Two shards; three partitioned variables, one of whose parts lie in both, and one with a long dimension."""
    prefix = os.path.join(directory, "tf_partitioned")
    wide = tf.reshape(tf.range(60, dtype=tf.float32), [10, 6])
    long = tf.reshape(tf.range(300), [300])
    many = tf.cast(tf.range(9000) % 7, tf.int8)
    names, values = zip(*tensors())
    save(prefix + "_a", list(names) + ["wide", "long", "many"],
         [""] * len(names) + ["10 6 0,4:-", "300 0,100", "9000 0,8500"], list(values) + [wide[:4], long[:100], many[:8500]])
    save(prefix + "_b", ["wide", "wide", "long", "many", "only/in/b"],
         ["10 6 4,6:0,2", "10 6 4,6:2,4", "300 100,200", "9000 8500,500", ""],
         [wide[4:, :2], wide[4:, 2:], long[100:], many[8500:], tf.constant([1.5])])
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=[prefix + "_a", prefix + "_b"], destination_prefix=prefix)
    return prefix


def check_reading(program, directory):
    prefix = write_with_tensorflow(directory)
    values = os.path.join(directory, "values.json")
    with open(values, "w") as file:
        json.dump(values_of(prefix), file)
    subprocess.run([program, "compare", prefix, values], check=True)


def check_writing(program, directory):
    """The program saves all that TensorFlow wrote through CheckpointManager, twice under one step, and TensorFlow reads."""
    prefix = write_with_tensorflow(directory)
    model_dir = os.path.join(directory, "model")
    for _ in range(2):
        subprocess.run([program, "copy", prefix, model_dir], check=True)
        assert tf.train.latest_checkpoint(model_dir) == os.path.join(model_dir, "model.ckpt-7")
        assert tf.train.get_checkpoint_state(model_dir).all_model_checkpoint_paths[-1].endswith("model.ckpt-7")
        ours, theirs = values_of(model_dir), values_of(prefix)
        assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
        for name in theirs:
            assert ours[name] == theirs[name], name
    restored = tf.raw_ops.RestoreV2(prefix=os.path.join(model_dir, "model.ckpt-7"), tensor_names=["wide"],
                                    shape_and_slices=["10 6 2,3:-"], dtypes=[tf.float32])[0]
    assert restored.numpy()[0, 0] == 12


def main():
    if sys.argv[1] == "--make-data":
        prefix = write_with_tensorflow(sys.argv[2])
        for other in [prefix] + sys.argv[3:]:
            name = os.path.basename(os.path.dirname(other)) if other != prefix else "tf_partitioned"
            with open(os.path.join(sys.argv[2], name + ".values.json"), "w") as file:
                json.dump(values_of(other), file, indent=0, separators=(",", ":"))
        return
    for check in check_reading, check_writing:
        with tempfile.TemporaryDirectory() as directory:
            check(sys.argv[1], directory)
    print("checkpoints agree with TensorFlow", tf.__version__)


if __name__ == "__main__":
    main()
