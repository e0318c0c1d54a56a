"""Writes and reads the format session_bundle by TensorFlow's own graph, saver and collections.

tf.contrib.session_bundle, which TensorFlow 1.15 removed, added the messages of manifest.proto to collections and let the saver write
the rest. MESSAGES has those messages; `export` writes what its Exporter wrote."""
import os

import tensorflow as tf
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory

v1 = tf.compat.v1
TEXT, MESSAGE = descriptor_pb2.FieldDescriptorProto.TYPE_STRING, descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
PATTERN = "export-?????-of-?????"


def manifest():
    """{name: class} of the messages of manifest.proto."""
    file = descriptor_pb2.FileDescriptorProto(name="manifest.proto", package="tensorflow.serving", syntax="proto3")

    def message(name, *fields, parent=None):
        added = (parent.nested_type if parent else file.message_type).add(name=name)
        for number, (field, type_name, repeated) in enumerate(fields, 1):
            kind = {"type": MESSAGE, "type_name": ".tensorflow.serving." + type_name} if type_name else {"type": TEXT}
            added.field.add(name=field, number=number, label=3 if repeated else 1, **kind)
        return added

    message("TensorBinding", ("tensor_name", "", False))
    message("RegressionSignature", ("input", "TensorBinding", False), ("output", "TensorBinding", False))
    message("ClassificationSignature", ("input", "TensorBinding", False), ("classes", "TensorBinding", False), ("scores", "TensorBinding", False))
    generic = message("GenericSignature", ("map", "GenericSignature.MapEntry", True))
    message("MapEntry", ("key", "", False), ("value", "TensorBinding", False), parent=generic).options.map_entry = True
    signature = message("Signature", ("regression_signature", "RegressionSignature", False),
                        ("classification_signature", "ClassificationSignature", False), ("generic_signature", "GenericSignature", False))
    signature.oneof_decl.add(name="type")
    for field in signature.field:
        field.oneof_index = 0
    signatures = message("Signatures", ("default_signature", "Signature", False), ("named_signatures", "Signatures.NamedSignaturesEntry", True))
    message("NamedSignaturesEntry", ("key", "", False), ("value", "Signature", False), parent=signatures).options.map_entry = True
    message("AssetFile", ("tensor_binding", "TensorBinding", False), ("filename", "", False))
    return message_factory.GetMessages([file], pool=descriptor_pool.DescriptorPool())


MESSAGES = {name.rsplit(".", 1)[1]: cls for name, cls in manifest().items()}


def classification(inputs, classes=None, scores=None):
    signature = MESSAGES["Signature"]()
    signature.classification_signature.input.tensor_name = inputs.name
    for key, tensor in (("classes", classes), ("scores", scores)):
        if tensor is not None:
            getattr(signature.classification_signature, key).tensor_name = tensor.name
    return signature


def regression(inputs, output):
    signature = MESSAGES["Signature"]()
    signature.regression_signature.input.tensor_name = inputs.name
    signature.regression_signature.output.tensor_name = output.name
    return signature


def generic(tensors):
    signature = MESSAGES["Signature"]()
    for key, tensor in tensors.items():
        signature.generic_signature.map[key].tensor_name = tensor.name
    return signature


def packed(message):
    holder = any_pb2.Any()
    holder.Pack(message)
    return holder


def export(directory, session, saver, default=None, named=None, init_op=None, assets=None, clear_devices=False):
    """assets: {file name: (tensor, content)}."""
    signatures = MESSAGES["Signatures"]()
    if default:
        signatures.default_signature.CopyFrom(default)
    for name, signature in (named or {}).items():
        signatures.named_signatures[name].CopyFrom(signature)
    v1.add_to_collection("serving_signatures", packed(signatures))
    if init_op is not None:
        v1.add_to_collection("serving_init_op", init_op)
    for name, (tensor, _) in (assets or {}).items():
        file = MESSAGES["AssetFile"](filename=name)
        file.tensor_binding.tensor_name = tensor.name
        v1.add_to_collection("serving_assets", packed(file))
    if clear_devices:
        graph = session.graph.as_graph_def()
        for node in graph.node:
            node.device = ""
        v1.add_to_collection("serving_graph", packed(graph))
    os.makedirs(os.path.join(directory, "assets") if assets else directory)
    saver.save(session, os.path.join(directory, "export"), meta_graph_suffix="meta", write_state=False)
    for name, (_, content) in (assets or {}).items():
        with open(os.path.join(directory, "assets", name), "w", encoding="utf-8") as file:
            file.write(content)


def unpack(meta, key, kind):
    """The messages of a collection."""
    found = []
    for holder in meta.collection_def[key].any_list.value:
        assert holder.type_url == "type.googleapis.com/tensorflow.serving." + kind, holder.type_url
        found.append(MESSAGES[kind].FromString(holder.value))
    return found


def load(directory, session):
    """Restores an export as its loaders did, with TensorFlow's v1 importer. (MetaGraphDef, Signatures)."""
    meta = v1.MetaGraphDef()
    with open(os.path.join(directory, "export.meta"), "rb") as file:
        meta.ParseFromString(file.read())
    saver = v1.train.import_meta_graph(meta)
    if saver is not None:
        whole = os.path.join(directory, "export")
        saver.restore(session, whole if os.path.exists(whole) or os.path.exists(whole + ".index") else os.path.join(directory, PATTERN))
    feeds = {file.tensor_binding.tensor_name: os.path.join(directory, "assets", file.filename)
             for file in unpack(meta, "serving_assets", "AssetFile")}
    for op in meta.collection_def["serving_init_op"].node_list.value:
        session.run(op, feeds)
    (signatures,) = unpack(meta, "serving_signatures", "Signatures")
    return meta, signatures
