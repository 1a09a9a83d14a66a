"""Belfry's string functions and tf.Example parser give what TensorFlow's give.

    python strings_peer_test.py PROGRAM [SEED]    PROGRAM is the built tests/peers/strings_peer

Needs tensorflow-cpu 2.15 and numpy < 2. Makes random cases, has TensorFlow answer them, and PROGRAM compare. Strings
travel as hexadecimal digits of their bytes.
"""

import json
import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf

ALPHABETS = ("abc", "0123456789", "äöüßéłжщ漢字🙂", " \t,;\"'")
ERRORS = (tf.errors.OpError, ValueError, UnicodeDecodeError)  # the last when TensorFlow quotes the bytes it refuses


def random_string(rng):
    length = int(rng.integers(0, 12) if rng.random() < 0.8 else rng.integers(0, 300))
    if rng.random() < 0.25:
        return rng.bytes(length)
    alphabet = ALPHABETS[rng.integers(len(ALPHABETS))]
    return "".join(alphabet[i] for i in rng.integers(0, len(alphabet), length)).encode()


def random_strings(rng, count):
    return [random_string(rng) for _ in range(count)]


def random_integer(rng):
    return int(rng.integers(-5, 20) if rng.random() < 0.7 else rng.integers(-(2**63), 2**63 - 1))


def to_hex(strings):
    return [text.hex() for text in strings]


def hash_case(rng):
    strings = random_strings(rng, 20)
    buckets = int(rng.choice([1, 2, 10, 1000, 2**40, 2**63 - 1]))
    ids = tf.strings.to_hash_bucket_fast(tf.constant(strings), buckets)
    return {"op": "hash_bucket", "strings": to_hex(strings), "buckets": buckets, "ids": ids.numpy().tolist()}


def as_string_case(rng):
    integers = [random_integer(rng) for _ in range(20)] + [-(2**63), 2**63 - 1, 0]
    texts = tf.strings.as_string(tf.constant(integers, tf.int64)).numpy()
    return {"op": "as_string", "integers": integers, "strings": to_hex(texts)}


def cross(columns, buckets, hash_key=None):
    inputs = [tf.constant(values, tf.string if kind == "strings" else tf.int64) for kind, values in columns]
    crossed = tf.sparse.cross_hashed(inputs, num_buckets=buckets, hash_key=hash_key)
    described = [{kind: [to_hex(row) for row in values] if kind == "strings" else values} for kind, values in columns]
    return {"op": "cross", "columns": described, "buckets": buckets, "hash_key": hash_key,
            "ids": tf.sparse.to_dense(crossed).numpy().tolist()}


def cross_case(rng):
    rows = int(rng.integers(1, 6))
    columns = []
    for _ in range(rng.integers(1, 4)):
        width = int(rng.integers(1, 4))
        make = random_string if rng.random() < 0.6 else random_integer
        columns.append(("strings" if make is random_string else "integers",
                        [[make(rng) for _ in range(width)] for _ in range(rows)]))
    key = None if rng.random() < 0.5 else int(rng.integers(1, 2**62))
    return cross(columns, int(rng.choice([0, 1, 7, 1000, 2**62])), key)


def vocabulary(text, strings, size=None, oov=0, default=-1):
    case = {"op": "vocabulary", "text": text.hex(), "strings": to_hex(strings), "size": size, "oov": oov,
            "default": default}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "words.txt")
        with open(path, "wb") as file:
            file.write(text)
        try:
            words = tf.lookup.TextFileInitializer(path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                                  tf.lookup.TextFileIndex.LINE_NUMBER, vocab_size=size)
            table = (tf.lookup.StaticVocabularyTable(words, oov) if oov else tf.lookup.StaticHashTable(words, default))
            return {**case, "ids": table.lookup(tf.constant(strings)).numpy().tolist()}
        except ERRORS:
            return {**case, "error": True}


def vocabulary_case(rng):
    words = random_strings(rng, int(rng.integers(1, 12)))
    end = b"\n" if rng.random() < 0.7 else b"\r\n"
    text = end.join(words) + (end if rng.random() < 0.5 else b"")
    size = int(rng.integers(1, len(words) + 3)) if rng.random() < 0.3 else None
    oov = int(rng.integers(1, 5)) if rng.random() < 0.5 else 0
    return vocabulary(text, words + random_strings(rng, 10), size, oov, -1 if oov else int(rng.integers(-1, 30)))


def to_feature(dtype, values):
    if dtype == "string":
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if dtype == "float32":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def to_example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def random_values(rng, dtype, count):
    if dtype == "string":
        return random_strings(rng, count)
    if dtype == "float32":
        return rng.standard_normal(count).astype(np.float32).tolist()
    return [random_integer(rng) for _ in range(count)]


def random_spec(rng):
    dtype = str(rng.choice(["float32", "int64", "string"]))
    if rng.random() < 0.4:
        padding = random_values(rng, dtype, 1)[0] if rng.random() < 0.5 else None
        return {"dtype": dtype, "length": int(rng.integers(1, 5)), "padding": padding}
    shape = rng.integers(1, 4, rng.integers(0, 3)).tolist()
    default = random_values(rng, dtype, int(np.prod(shape))) if rng.random() < 0.7 else None
    return {"dtype": dtype, "shape": shape, "default": default}


def padded(sparse, spec):
    """The rows of a sparse tensor as Belfry's VarLenFeature gives them."""
    rows = [[] for _ in range(sparse.dense_shape[0])]
    for (row, _), value in zip(sparse.indices.numpy(), sparse.values.numpy().tolist()):
        rows[row].append(value)
    padding = spec["padding"]
    if padding is None:
        padding = b"" if spec["dtype"] == "string" else 0
    return [(row + [padding] * spec["length"])[:spec["length"]] for row in rows]


def to_json(dtype, values):
    if values is None:
        return None
    if isinstance(values, list):
        return [to_json(dtype, value) for value in values]
    return values.hex() if dtype == "string" else values


def parse(examples, specs):
    wanted = {}
    for name, spec in specs.items():
        dtype = tf.as_dtype(spec["dtype"])
        wanted[name] = (tf.io.VarLenFeature(dtype) if "length" in spec else
                        tf.io.FixedLenFeature(spec["shape"], dtype, spec["default"]))
    described = {name: {key: to_json(spec["dtype"], value) if key in ("default", "padding") else value
                        for key, value in spec.items()} for name, spec in specs.items()}
    case = {"op": "parse", "examples": to_hex(examples), "specs": described}
    try:
        parsed = tf.io.parse_example(tf.constant(examples, tf.string), wanted)
    except ERRORS:
        return {**case, "error": True}
    values = {name: padded(parsed[name], spec) if "length" in spec else parsed[name].numpy().tolist()
              for name, spec in specs.items()}
    return {**case, "values": {name: to_json(specs[name]["dtype"], value) for name, value in values.items()}}


def random_feature(rng, spec):
    """Mostly one that fits."""
    dtype = spec["dtype"] if rng.random() < 0.98 else str(rng.choice(["float32", "int64", "string"]))
    count = int(rng.integers(0, 7)) if "length" in spec or rng.random() < 0.02 else int(np.prod(spec["shape"]))
    return tf.train.Feature() if rng.random() < 0.05 else to_feature(dtype, random_values(rng, dtype, count))


def parse_case(rng):
    specs = {f"feature {i}": random_spec(rng) for i in range(rng.integers(1, 5))}
    examples = []
    for _ in range(rng.integers(0, 6)):
        features = {name: random_feature(rng, spec) for name, spec in specs.items()
                    if rng.random() < (0.98 if spec.get("default", 0) is None else 0.8)}
        features.update({f"other {i}": random_feature(rng, random_spec(rng)) for i in range(rng.integers(0, 3))})
        bytes_ = to_example(**features)
        examples.append(bytes_[:rng.integers(0, len(bytes_) + 1)] if rng.random() < 0.01 else bytes_)
    return parse(examples, specs)


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = np.random.default_rng(seed)
    makers = (hash_case, as_string_case, cross_case, vocabulary_case, parse_case)
    cases = [make(rng) for make in makers for _ in range(300 if make is parse_case else 60)]
    errors = sum("error" in case for case in cases)
    if not 10 < errors < len(cases) / 2:
        sys.exit(f"seed {seed}: TensorFlow refuses {errors} of {len(cases)} cases; the cases test too little")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump({"cases": cases}, file)
        subprocess.run([sys.argv[1], path], check=True)
    print(f"{len(cases)} cases, {errors} of them refused, are as in TensorFlow {tf.__version__}")


if __name__ == "__main__":
    main()
