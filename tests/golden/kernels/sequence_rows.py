"""Rows of the ops that parse tf.SequenceExamples."""
from rows import Rows

import numpy as np
import tensorflow as tf

FLOATS, INTS, TEXTS = "float_list", "int64_list", "bytes_list"


def texts(*values):
    return tf.constant(list(values), tf.string, shape=[len(values)])


def message(context={}, lists={}):
    """{key: (kind, values)} and {key: (kind, rows)}; a row of None is a Feature without a list."""
    example = tf.train.SequenceExample()
    for key, (kind, values) in context.items():
        feature = example.context.feature[key]
        if kind:
            getattr(feature, kind).value.extend(values)
            getattr(feature, kind).SetInParent()
    for key, (kind, rows) in lists.items():
        example.feature_lists.feature_list[key].SetInParent()
        for row in rows:
            feature = example.feature_lists.feature_list[key].feature.add()
            if row is not None:
                getattr(feature, kind).value.extend(row)
                getattr(feature, kind).SetInParent()
    return example.SerializeToString(deterministic=True)


NO_FLOATS, NO_INTS, NO_TEXTS = np.zeros(0, np.float32), np.zeros(0, np.int64), texts()
A = message({"f": (FLOATS, [1, 2]), "i": (INTS, [-7]), "s": (TEXTS, [b"a", b"\0%"])},
            {"lf": (FLOATS, [[1, 2], [3, 4]]), "li": (INTS, [[5], [6], [-1]]), "ls": (TEXTS, [[b"x"], []]), "ragged": (INTS, [[1, 2, 300], [], None, [4]])})
B = message({"f": (FLOATS, [3, 4]), "s": (TEXTS, [])}, {"lf": (FLOATS, [[5, 6]]), "li": (INTS, []), "ls": (TEXTS, [[b"yy"]]), "ragged": (INTS, [[9]])})
C = message({"i": (INTS, [1 << 40]), "f": (None, [])}, {"lf": (FLOATS, [[5, 6], [7]]), "ls": (TEXTS, [])})
EMPTY = b""
DTYPES = {"f": tf.float32, "i": tf.int64, "s": tf.string, "lf": tf.float32, "li": tf.int64, "ls": tf.string, "ragged": tf.int64, "none": tf.float32}
NOTHING = {tf.float32: NO_FLOATS, tf.int64: NO_INTS, tf.string: NO_TEXTS}


def given(attributes):
    """Leaves out empty lists of shapes, which a row cannot tell from [[]]."""
    return {name: value for name, value in attributes.items() if not name.endswith("shapes") or value}


class Request:
    """The features that a row asks for: keys, and {key: (shape, default)} and {key: shape} of the dense ones."""

    def __init__(self, sparse=(), dense={}, ragged=(), list_sparse=(), list_dense={}, list_ragged=(), missing=(), splits=tf.int64, types={}):
        self.sparse, self.dense, self.ragged, self.splits = list(sparse), dense, list(ragged), splits
        self.list_sparse, self.list_dense, self.list_ragged, self.missing = list(list_sparse), list_dense, list(list_ragged), list(missing)
        self.type_of = {**DTYPES, **types}

    def types(self, keys):
        return [self.type_of[key] for key in keys]

    def defaults(self):
        return [NOTHING[self.type_of[key]] if default is None else default for key, (_, default) in self.dense.items()]

    def shared(self):
        return dict(context_sparse_types=self.types(self.sparse), context_dense_shapes=[shape for shape, _ in self.dense.values()],
                    feature_list_sparse_types=self.types(self.list_sparse), feature_list_dense_types=self.types(self.list_dense),
                    feature_list_dense_shapes=list(self.list_dense.values()))

    def keys(self, names):
        return texts(*[name.encode() for name in names])


def add_v1(rows, examples, request, names=(), **more):
    rows.add("ParseSequenceExample", [examples, texts(*names), request.defaults()],
             **given({**dict(feature_list_dense_missing_assumed_empty=request.missing, context_sparse_keys=request.sparse, context_dense_keys=list(request.dense),
                       feature_list_sparse_keys=request.list_sparse, feature_list_dense_keys=list(request.list_dense), Ncontext_sparse=len(request.sparse),
                       Ncontext_dense=len(request.dense), Nfeature_list_sparse=len(request.list_sparse), Nfeature_list_dense=len(request.list_dense),
                       **request.shared()), **more}))


def add_v2(rows, examples, request, names=(), **more):
    keys = request.keys
    missing = np.array([key in request.missing for key in request.list_dense], bool)
    skip = ()
    if tf.convert_to_tensor(examples).shape.rank == 0:  # TensorFlow does not set the splits of one example
        first = 3 * len(request.sparse) + len(request.dense) + len(request.ragged)
        lists = first + len(request.ragged) + 3 * len(request.list_sparse) + 2 * len(request.list_dense) + len(request.list_ragged)
        skip = [*range(first, first + len(request.ragged)), *range(lists, lists + len(request.list_ragged))]
    rows.add("ParseSequenceExampleV2", [examples, texts(*names), keys(request.sparse), keys(request.dense), keys(request.ragged), keys(request.list_sparse),
                                        keys(request.list_dense), keys(request.list_ragged), missing, request.defaults()], skip=skip,
             **given({**dict(Ncontext_sparse=len(request.sparse), Nfeature_list_sparse=len(request.list_sparse), Nfeature_list_dense=len(request.list_dense),
                       context_ragged_value_types=request.types(request.ragged), context_ragged_split_types=[request.splits] * len(request.ragged),
                       feature_list_ragged_value_types=request.types(request.list_ragged), feature_list_ragged_split_types=[request.splits] * len(request.list_ragged),
                       **request.shared()), **more}))


def add_single(rows, example, request, name=b"n", **more):
    scalars = lambda keys: [tf.constant(key) for key in keys]
    rows.add("ParseSingleSequenceExample", [tf.constant(example), request.keys(request.missing), scalars(request.sparse), scalars(request.dense), scalars(request.list_sparse),
                                            scalars(request.list_dense), request.defaults(), tf.constant(name)],
             **given({**dict(Ncontext_sparse=len(request.sparse), Ncontext_dense=len(request.dense), Nfeature_list_sparse=len(request.list_sparse),
                       Nfeature_list_dense=len(request.list_dense), **request.shared()), **more}))


def sequence_example():
    rows = Rows("sequence_example")
    wide = Request(sparse=["s"], dense={"f": ([2], np.float32([8, 9])), "i": ([], np.int64(5))}, list_sparse=["ragged"],
                   list_dense={"lf": [2], "li": []}, missing=["li"])
    requests = [wide, Request(sparse=["s", "i", "f"]), Request(dense={"f": ([2], None)}), Request(dense={"f": ([1, 2], np.float32([[0.5, -1]]))}),
                Request(dense={"f": ([3], None)}), Request(dense={"s": ([2], tf.constant(["p", "q"]))}), Request(dense={"i": ([1], np.int64([3]))}),
                Request(list_sparse=["lf", "li"]), Request(list_sparse=["ls", "ragged", "none"]), Request(list_dense={"lf": [2]}), Request(list_dense={"lf": [1, 2]}), Request(list_dense={"lf": [3]}),
                Request(list_dense={"lf": [1]}), Request(list_dense={"ls": [1]}, missing=["ls"]), Request(list_dense={"ls": []}),
                Request(list_dense={"li": []}), Request(list_dense={"none": [2]}), Request(list_dense={"none": [2]}, missing=["none"]),
                Request(sparse=["i"], types={"i": tf.float32}), Request(dense={"i": ([], None)}, types={"i": tf.string}),
                Request(list_sparse=["li"], types={"li": tf.float32}), Request(list_dense={"lf": [2]}, types={"lf": tf.int64}), Request(list_dense={"ragged": [1]}), Request()]
    batches = [([A, B], ()), ([B], (b"first",)), ([A, C, EMPTY], (b"x", b"y", b"z")), ([EMPTY], ()), ([], ())]
    for request in requests:
        for examples, names in batches:
            add_v1(rows, texts(*examples), request, names)
            add_v2(rows, texts(*examples), request, names)
        for example in [A, B, C, EMPTY]:
            add_v1(rows, tf.constant(example), request)
            add_v2(rows, tf.constant(example), request)
            add_single(rows, example, request)
    for splits in [tf.int32, tf.int64]:
        request = Request(sparse=["i"], ragged=["s", "none"], list_ragged=["ragged", "lf"], list_dense={"li": []}, missing=["li"], splits=splits)
        for examples in [texts(A, B), texts(A, C, EMPTY), texts(), tf.constant(A), tf.constant(EMPTY)]:
            add_v2(rows, examples, request)
    add_v2(rows, texts(A), Request(ragged=["i"], types={"i": tf.float32}), [b"n"])
    add_v2(rows, texts(A), Request(list_ragged=["li"], types={"li": tf.float32}))
    damaged(rows)
    disagreeing(rows)
    rows.write()


def damaged(rows):
    """Bytes that are no SequenceExample, or only to one of the two parsers."""
    entry = b"\x0a\x01i\x12\x05\x1a\x03\x0a\x01\x07"
    context = lambda body: b"\x0a" + bytes([len(body)]) + body
    whole = context(b"\x0a" + bytes([len(entry)]) + entry)
    swapped = b"\x12\x05\x1a\x03\x0a\x01\x07" + b"\x0a\x01i"
    lists = lambda body: b"\x12" + bytes([len(body) + 6]) + b"\x0a" + bytes([len(body) + 4 - 0]) + b"\x0a\x01i\x12"[:4] + body
    messages = [whole, whole + whole.replace(b"\x07", b"\x08"), b"\x1a\x01z" + whole, b"\x18\x05" + whole, b"\x0b", b"\x0a", b"\x0a\x05", b"\x0a\x02\x08\x01",
                context(b"\x0a" + bytes([len(swapped)]) + swapped), whole[:-1], context(b"\x0a\x03\x0a\x01i"), whole.replace(b"\x0a\x01\x07", b"\x08\x07\x07"),
                whole.replace(b"\x1a\x03\x0a\x01\x07", b"\x1a\x03\x08\x87\x01"), whole.replace(b"\x1a\x03\x0a\x01\x07", b"\x1a\x03\x0a\x01\x87"),
                whole.replace(b"\x1a\x03", b"\x1a\x00"), whole.replace(b"\x12\x05\x1a\x03\x0a\x01\x07", b"\x12\x05\x1a\x02\x08\x07\x00")]
    for one in messages:
        for request in [Request(sparse=["i"]), Request(dense={"i": ([], np.int64(5))})]:
            for examples in [texts(one), tf.constant(one)]:
                add_v1(rows, examples, request)
                add_v2(rows, examples, request)
            add_single(rows, one, request, text=False)
    for body in [b"\x05\x0a\x03\x1a\x01\x07", b"\x04\x0a\x02\x1a\x00", b"\x04\x0a\x02\x12\x00", b"\x03\x0a\x01\x00", b"\x02\x0a\x00", b"\x02\x08\x00", b"\x04\x0a\x7f\x1a\x00"]:
        for request in [Request(list_sparse=["i"]), Request(list_dense={"i": []})]:
            entry = b"\x0a\x01i\x12" + body
            one = b"\x12" + bytes([len(entry) + 2]) + b"\x0a" + bytes([len(entry)]) + entry
            add_v1(rows, texts(one), request)
            add_v2(rows, tf.constant(one), request)
            add_single(rows, one, request, text=False)


def disagreeing(rows):
    """Attributes and inputs that do not fit each other."""
    dense = Request(dense={"f": ([2], np.float32([8, 9]))}, sparse=["i"], list_sparse=["ls"], list_dense={"lf": [2]})
    for more in [dict(Ncontext_dense=2), dict(Ncontext_sparse=2), dict(Nfeature_list_dense=0), dict(context_dense_shapes=[]), dict(context_sparse_types=[]),
                 dict(feature_list_sparse_types=[tf.int64] * 2), dict(feature_list_dense_shapes=[[2], []]), dict(context_dense_keys=[]), dict(feature_list_sparse_keys=["a", "b"])]:
        add_v1(rows, texts(A), dense, **more)
    for wrong in [Request(dense={"f": ([2], np.float32([8]))}), Request(dense={"f": ([2], np.float32(8))})]:
        add_v1(rows, texts(A), wrong)
        add_v2(rows, texts(A), wrong)
        add_single(rows, A, wrong)
    for names in [(b"a", b"b"), (b"a",)]:
        add_v1(rows, texts(A), Request(sparse=["i"]), names)
    add_v1(rows, tf.reshape(texts(A), [1, 1]), Request(sparse=["i"]))
    add_v2(rows, tf.reshape(texts(A), [1, 1]), Request(sparse=["i"]))
    add_v1(rows, texts(A), Request(sparse=["i", "i"]))
    add_v1(rows, texts(A), Request(sparse=["i"], dense={"i": ([], None)}))
    add_v1(rows, texts(A), Request(list_sparse=["lf"], list_dense={"lf": [2]}))
    add_v2(rows, texts(A), Request(sparse=["i"], ragged=["i"]))
    add_v2(rows, texts(A), Request(dense={"i": ([], None)}, ragged=["i"]))
    add_v2(rows, texts(A), Request(list_sparse=["li"], list_ragged=["li"]))


def example_json():
    rows = Rows("example_json")
    whole = ["{}", '{"features":{}}', '{"features":null}', '{"features":{"feature":{}}}', '{"features":{"feature":null}}', ' {"features" : {} }\n', '{"features":{"feature":{"\u00e9\\u00e9":{}}}}',
             '{"features":{"feature":{"a":{"int64List":{"value":[1]}},"b":{"floatList":{"value":[2]}},"":{"bytesList":{"value":["aGk="]}}}}}',
             "", "[]", "null", '{"feature":{}}', '{"features":{"feature":{"a":{},"a":{}}}}', '{"features":{"feature":[]}}', '{"features":[]}', '{"features":1}', '{"features":{}} x', "{"]
    features = ["{}", "null", '{"floatList":{}}', '{"float_list":{"value":[1,2.5]}}', '{"floatList":{"value":[]}}', '{"floatList":{"value":null}}', '{"floatList":{"value":["NaN","Infinity","-Infinity","1.5","1e3","-0.0"]}}',
                '{"floatList":{"value":5}}', '{"floatList":{"value":[null]}}', '{"floatList":{"value":[0,-0.0,0.1,16777217,1e-50,3.4e38]}}', '{"floatList":null,"int64List":{"value":[1]}}',
                '{"int64List":{"value":[1,"2",-3,"-4",5.0,1e2,"6.0",null]}}', '{"int64_list":{"value":[9223372036854775807,-9223372036854775808,"9223372036854775807","-9223372036854775808"]}}', '{"int64List":{"value":"7"}}',
                '{"bytesList":{"value":["aGk=","aGk","","-_8=","+/8=","aGl","AAECAwQFBgc",null]}}', '{"bytes_list":{"value":["\\u0061Gk="]}}', '{"bytesList":{"value":["%s"]}}' % ("QUJD" * 60),
                '{"floatList":{"value":[1e39]}}', '{"floatList":{"value":[true]}}', '{"floatList":{"value":["x"]}}', '{"floatList":{"value":[""]}}', '{"floatList":{"value":["0x10"]}}', '{"floatList":{"value":["inf"]}}',
                '{"floatList":{"value":[" 1"]}}', '{"floatList":{"value":[[1]]}}', '{"int64List":{"value":[1.5]}}', '{"int64List":{"value":["x"]}}', '{"int64List":{"value":[9223372036854775808]}}',
                '{"int64List":{"value":["9223372036854775808"]}}', '{"int64List":{"value":["-9223372036854775809"]}}', '{"int64List":{"value":[" 1"]}}', '{"int64List":{"value":["1 "]}}', '{"int64List":{"value":[true]}}',
                '{"int64List":{"value":[""]}}', '{"int64List":{"value":["NaN"]}}', '{"int64List":{"value":[1e19]}}', '{"bytesList":{"value":["a"]}}', '{"bytesList":{"value":["!"]}}', '{"bytesList":{"value":[1]}}',
                '{"bytesList":{"value":["aGk=="]}}', '{"bytesList":{"value":["aG k="]}}', '{"bytesList":{"value":["="]}}', '{"other":1}', '{"floatList":{"value":[1]},"int64List":{"value":[1]}}', '{"floatList":{"values":[1]}}',
                '{"floatList":[]}', "[]", "1"]
    for text in whole + ['{"features":{"feature":{"k":%s}}}' % feature for feature in features]:
        rows.add("DecodeJSONExample", [tf.constant(text)], text=False)
    rows.add("DecodeJSONExample", [tf.constant([["{}", '{"features":{}}']])])
    rows.add("DecodeJSONExample", [tf.zeros([0, 2], tf.string)])
    rows.write()


FAMILIES = [sequence_example, example_json]
