"""Rows of ops on variables: what the variables hold after the op."""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from drawn import COMPLEX, FLOATS, INTEGERS
from rows import CODES, Rows, attr_text, clean, tensor_text

LOOSE = {np.float16: 4e-3, tf.bfloat16.as_numpy_dtype: 3e-2}


class Variable:
    """An input that is a variable with this value."""

    def __init__(self, value):
        self.value = np.asarray(value)


class StateRows(Rows):
    """Runs each op in a session of its own, by reference if the op takes one."""

    def place(self, value, is_ref, name, feeds, initializers, reads):
        """Shapes stay unknown, so that the kernel and not the graph refuses them."""
        if not isinstance(value, Variable):
            place = tf.compat.v1.placeholder(tf.as_dtype(np.asarray(value).dtype))
            feeds[place] = np.array(value)  # a copy: InplaceAdd writes into what it is fed
            return place
        value = tf.constant(value.value)
        if is_ref:
            handle = tf.raw_ops.VariableV2(shape=tf.TensorShape(None), dtype=value.dtype, shared_name=name)
            initializers.append(tf.raw_ops.Assign(ref=handle, value=value, validate_shape=False))
            reads.append(tf.raw_ops.Identity(input=handle))
        else:
            handle = tf.raw_ops.VarHandleOp(dtype=value.dtype, shape=tf.TensorShape(None), shared_name=name)
            initializers.append(tf.raw_ops.AssignVariableOp(resource=handle, value=value))
            reads.append(tf.raw_ops.ReadVariableOp(resource=handle, dtype=value.dtype))
        return handle

    def run(self, op, definition, inputs, attrs):
        """The outputs, and then the variables."""
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            feeds, initializers, reads = {}, [], []
            arguments = {arg.name: self.place(value, arg.is_ref, f"variable{i}", feeds, initializers, reads)
                         for i, (arg, value) in enumerate(zip(definition.input_arg, inputs))}
            made = getattr(tf.raw_ops, op)(**arguments, **attrs)
            session.run(initializers)
            outputs = session.run(made if isinstance(made, tf.Operation) else tf.nest.flatten(made), feeds)
            return (outputs or []) + session.run(reads)

    def add(self, op, inputs, tolerance=None, text=True, uninitialised=False, **attrs):
        definition = op_def_registry.get(op)
        kinds = {attr.name: attr.type for attr in definition.attr}
        words = [attr_text(name, kinds[name], value) for name, value in attrs.items()]
        if tolerance is not None:
            words.append("~=%g" % tolerance)
        try:
            values = self.run(op, definition, inputs, attrs)
            outputs = " ; ".join("-" if uninitialised else tensor_text(value) for value in values)
        except tf.errors.OpError as error:
            if "No OpKernel was registered" in error.message or "not in the list of allowed values" in error.message or "No registered" in error.message:
                return
            outputs = "!%d %s" % (CODES[type(error).__name__], clean(error.message.split("\n\t [[")[0].split("\n")[-1]) if text else "")
        except (ValueError, TypeError):  # the graph is refused
            return
        tensors = " ; ".join("@" + tensor_text(v.value) if isinstance(v, Variable) else tensor_text(v) for v in inputs)
        self.lines.append("\t".join([op, " ".join(words), tensors, outputs]))


def numbers(dtype, *shape):
    """Small numbers that every type holds exactly."""
    count = int(np.prod(shape))
    values = (np.arange(count) * 7 % 5 + 1).reshape(shape)
    return values.astype(dtype)


def scatter(rows):
    for prefix in ["ResourceScatter", "Scatter"]:
        for name in ["Add", "Sub", "Mul", "Div", "Min", "Max", "Update"]:
            op = prefix + name
            for dtype in FLOATS + INTEGERS + COMPLEX:
                rows.add(op, [Variable(numbers(dtype, 4, 2)), np.array([2, 0, 2], np.int32), numbers(dtype, 3, 2)], LOOSE.get(dtype))
            value = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
            update = np.array([7, -8], np.float32)
            rows.add(op, [Variable(value), np.int64(1), update])
            rows.add(op, [Variable(value), np.array([[0, 1], [2, 2]], np.int64), np.float32(3)])
            rows.add(op, [Variable(value), np.array([[0], [1]], np.int32), np.array([[update], [update]])])
            rows.add(op, [Variable(value), np.zeros([0], np.int32), np.zeros([0, 2], np.float32)])
            rows.add(op, [Variable(np.zeros([3, 0], np.float32)), np.array([1], np.int32), np.zeros([1, 0], np.float32)])
            rows.add(op, [Variable(np.array([np.nan, 1, np.inf, 0, -0.0], np.float32)), np.arange(5, dtype=np.int32), np.array([1, np.nan, np.inf, 0, 0], np.float32)])
            for bad in [[3], [-1], [0, 9]]:
                rows.add(op, [Variable(value), np.array(bad, np.int32), np.float32(1)])
            rows.add(op, [Variable(value), np.array([[0, 1], [1, 5]], np.int32), np.float32(1)])
            if prefix == "Scatter":  # on a resource, TensorFlow reads beyond the update or the variable
                rows.add(op, [Variable(value), np.array([0], np.int32), np.zeros([1, 3], np.float32)])
                rows.add(op, [Variable(np.float32(1)), np.array([0], np.int32), np.float32(2)])
            rows.add(op, [Variable(value), np.array([0], np.int32), np.zeros([2, 2], np.float32)])
        rows.add(prefix + "Div", [Variable(np.array([-7, 7], np.int32)), np.array([0, 1], np.int32), np.array([2, -2], np.int32)])
        rows.add(prefix + "Add", [Variable(np.array([2 ** 31 - 1], np.int32)), np.array([0], np.int32), np.array([1], np.int32)])
        rows.add(prefix + "Update", [Variable(np.array([b"a", b"bc"])), np.array([1], np.int32), np.array([b"a longer text"])])
        rows.add(prefix + "Update", [Variable(np.array([True, False])), np.array([1, 0], np.int32), np.array([True, False])])
    rows.add("ScatterAdd", [Variable(np.array([1], np.float32)), np.array([0], np.int32), np.array([1], np.float32)], use_locking=True)


def scatter_nd(rows):
    for prefix in ["ResourceScatterNd", "ScatterNd"]:
        for name in ["Update", "Add", "Sub", "Max", "Min"] + (["NonAliasingAdd"] if prefix == "ScatterNd" else []):
            op = prefix + name
            variable = (lambda value: value) if name == "NonAliasingAdd" else Variable
            for dtype in FLOATS + INTEGERS + COMPLEX:
                rows.add(op, [variable(numbers(dtype, 4, 2)), np.array([[2], [0], [2]], np.int32), numbers(dtype, 3, 2)], LOOSE.get(dtype))
            value = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
            rows.add(op, [variable(value), np.array([[0, 1], [2, 0], [0, 1]], np.int64), np.array([7, -8, 9], np.float32)])
            rows.add(op, [variable(value), np.array([[[0, 1]], [[2, 0]]], np.int32), np.array([[7], [-8]], np.float32)])
            rows.add(op, [variable(value), np.array([2, 0, 2], np.int32), value])
            rows.add(op, [variable(value), np.array([1, 1], np.int32), np.float32(3)], text=False)
            rows.add(op, [variable(value), np.zeros([0, 1], np.int32), np.zeros([0, 2], np.float32)])
            rows.add(op, [variable(np.array([np.nan, 1, np.inf, 0, -0.0], np.float32)), np.arange(5, dtype=np.int32)[:, None], np.array([1, np.nan, np.inf, 0, 0], np.float32)])
            for bad in [[[3]], [[-1]], [[0], [9]]]:
                rows.add(op, [variable(value), np.array(bad, np.int32), np.zeros([len(bad), 2], np.float32)])
            for policy in ["IGNORE", "ERROR", "DEFAULT", "OTHER"]:
                rows.add(op, [variable(value), np.array([[3], [1], [-1]], np.int32), np.ones([3, 2], np.float32)], bad_indices_policy=policy, text=policy != "OTHER")
            rows.add(op, [variable(value), np.array([[0]], np.int32), np.zeros([1, 3], np.float32)])
            rows.add(op, [variable(value), np.array([[0, 0, 0]], np.int32), np.zeros([1], np.float32)])
            rows.add(op, [variable(value), np.array([[0]], np.int32), np.zeros([2, 2], np.float32)])
            rows.add(op, [variable(value), np.int32(0), np.zeros([2], np.float32)], text=False)
            rows.add(op, [variable(np.zeros([0, 2], np.float32)), np.array([[0]], np.int32), np.zeros([1, 2], np.float32)])
        rows.add(prefix + "Update", [Variable(np.array([b"a", b"bc"])), np.array([[1]], np.int32), np.array([b"a longer text"])])
        rows.add(prefix + "Update", [Variable(np.array([True, False])), np.array([[1], [0]], np.int32), np.array([True, False])])
    for op in ["ResourceScatterNdAdd", "ResourceScatterNdSub"]:
        rows.add(op, [Variable(np.array([True, False, True, False, False])), np.array([[0], [1], [2], [3], [1]], np.int32), np.array([True, True, False, False, True])])
    rows.add("ScatterNdNonAliasingAdd", [np.array([True, False, False]), np.array([[0], [1]], np.int32), np.array([True, True])])


def gather(rows):
    op = "ResourceGather"
    for dtype in FLOATS + INTEGERS + COMPLEX:
        rows.add(op, [Variable(numbers(dtype, 4, 2)), np.array([2, 0, 2], np.int32)], dtype=dtype)
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for indices, batch in [([[0, 2], [1, 1]], 1), ([0, 2], 1), ([[[0], [1], [2]], [[3], [0], [1]]], 2), ([[0, 2, 1], [1, 1, 3]], 2), ([[0, 6], [1, 1]], 1), ([[0, -1], [1, 1]], 1),
                           (1, 0), ([[1, 0]], 0), ([2], 0)]:
        for kind in [np.int32, np.int64]:
            rows.add(op, [Variable(value), np.array(indices, kind)], text=False, batch_dims=batch, dtype=np.float32)
    for shape, indices in [((2, 3, 4), (2, 0)), ((2, 0, 3), (2, 0)), ((0, 2, 3), (0, 1))]:
        rows.add(op, [Variable(np.zeros(shape, np.float32)), np.zeros(indices, np.int32)], batch_dims=1, dtype=np.float32)
    rows.add(op, [Variable(np.array([[b"a", b"bc"], [b"", b"a longer text"]])), np.array([[1, 0], [1, 1]], np.int32)], batch_dims=1, dtype=tf.string)


def gather_nd(rows):
    op = "ResourceGatherNd"
    for dtype in FLOATS + INTEGERS + COMPLEX:
        rows.add(op, [Variable(numbers(dtype, 4, 2)), np.array([[2], [0], [2]], np.int32)], dtype=dtype)
    value = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    for indices in [[[0, 1], [2, 0]], [[[0, 1, 1]]], [1, 1], [[]], [[3]], [[0], [-1]], [[0, 1, 1, 1]], 1]:
        rows.add(op, [Variable(value), np.array(indices, np.int64)], dtype=np.float32)
    rows.add(op, [Variable(np.float32(1)), np.array([[0]], np.int64)], dtype=np.float32)
    rows.add(op, [Variable(np.zeros([0, 2], np.float32)), np.zeros([0, 1], np.int32)], dtype=np.float32)
    rows.add(op, [Variable(np.array([b"a", b"bc"])), np.array([[1], [1]], np.int32)], dtype=tf.string)


def slice_assign(rows):
    i32 = lambda *values: np.array(values, np.int32)
    for op in ["ResourceStridedSliceAssign", "StridedSliceAssign", "TensorStridedSliceUpdate"]:
        variable = Variable if op.endswith("Assign") else (lambda value: value)
        for dtype in FLOATS + INTEGERS + COMPLEX + [np.bool_]:
            rows.add(op, [variable(numbers(dtype, 4, 2)), i32(1), i32(3), i32(1), numbers(dtype, 2, 2)])
        value = np.arange(12, dtype=np.float32).reshape(3, 4)
        for begin, end, strides, new, attrs in [
                ([0, 1], [3, 3], [2, 1], [[-1, -2], [-3, -4]], {}), ([2], [0], [-1], np.ones([2, 4]), {}), ([1], [2], [1], np.ones([4]), dict(shrink_axis_mask=1)),
                ([0, 0], [0, 0], [1, 1], np.ones([3, 4]), dict(begin_mask=3, end_mask=3)), ([0, 1], [0, 2], [1, 1], np.ones([3]), dict(ellipsis_mask=1, shrink_axis_mask=2)),
                ([0, 1], [0, 2], [1, 1], np.ones([1, 1, 4]), dict(new_axis_mask=1)), ([1], [1], [1], np.ones([0, 4]), {}), ([1, 2], [2, 3], [1, 1], 5, dict(shrink_axis_mask=3)),
                ([1], [3], [1], np.ones([4]), {}), ([1], [3], [1], np.ones([1, 4]), {}), ([1], [3], [1], 3, {}), ([1], [3], [1], np.ones([3, 4]), {}),
                ([9], [10], [1], np.ones([4]), dict(shrink_axis_mask=1)), ([0], [1], [0], np.ones([1, 4]), {}), ([0, 0, 0], [1, 1, 1], [1, 1, 1], 1, {}), ([0, 0], [1], [1], np.ones([1]), {})]:
            rows.add(op, [variable(value), i32(*begin), i32(*end), i32(*strides), np.asarray(new, np.float32)], **attrs)
        rows.add(op, [variable(np.array([b"a", b"bc"])), i32(1), i32(2), i32(1), np.array([b"a longer text"])])
        rows.add(op, [variable(np.zeros([0, 2], np.float32)), i32(0), i32(0), i32(1), np.zeros([0, 2], np.float32)])
        rows.add(op, [variable(np.float32(1)), i32(), i32(), i32(), np.float32(2)])


SETTINGS = {
    "lr": 0.5, "alpha": 0.5, "momentum": 0.75, "beta1_power": 0.5, "beta2_power": 0.75, "beta1": 0.75, "beta2": 0.875, "epsilon": 0.0625, "rho": 0.75, "l1": 0.25,
    "l2": 0.125, "l2_shrinkage": 0.25, "lr_power": -0.5, "global_step": 3, "sign_decay": 0.5, "beta": 0.75, "logbase": 0.625,
}
SLOTS = {"mg": 0.125, "mom": 0.5, "m": 0.25, "linear": 0.5, "gradient_accumulator": 0.25}


def applied(op, dtype, shape=(2, 3), indices=None, variable=None, gradient=None, **settings):
    """The inputs of a training op."""
    inputs = []
    size = int(np.prod(shape))
    rows = len(indices) if indices is not None else None
    for arg in op_def_registry.get(op).input_arg:
        if arg.name in settings:
            inputs.append(np.asarray(settings[arg.name], np.int64 if arg.name == "global_step" else dtype))
        elif arg.name == "indices":
            inputs.append(np.array(indices, np.int32))
        elif arg.name in ("grad", "delta"):
            value = gradient
            if value is None:
                count = size if rows is None else size // shape[0] * rows if shape[0] else 0
                value = ((np.arange(count) * 3 % 7 - 3) / 4).reshape(shape if rows is None else (rows,) + shape[1:])
            inputs.append(np.asarray(value).astype(dtype))
        elif arg.name == "var":
            value = ((np.arange(size) * 5 % 8 - 4) / 4).reshape(shape) if variable is None else variable
            inputs.append(Variable(np.asarray(value).astype(dtype)))
        elif arg.is_ref or arg.type == 20:  # a slot
            start = SLOTS.get(arg.name, 1)
            inputs.append(Variable((start + np.arange(size) / 8).reshape(shape).astype(dtype)))
        else:
            inputs.append(np.asarray(SETTINGS[arg.name], np.int64 if arg.name == "global_step" else dtype))
    return inputs


def training(rows):
    names = ["GradientDescent", "Momentum", "KerasMomentum", "Adam", "AdamWithAmsgrad", "AdaMax", "Adadelta", "Adagrad", "AdagradV2", "AdagradDA", "Ftrl", "FtrlV2", "RMSProp",
             "CenteredRMSProp", "ProximalAdagrad", "ProximalGradientDescent", "AddSign", "PowerSign"]
    for op in [prefix + name for prefix in ["Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"] for name in names]:
        definition = op_def_registry.get(op)
        if definition is None:
            continue
        chosen = dict(indices=[1, 0, 1]) if "Sparse" in op else {}
        flags = [attr.name for attr in definition.attr if attr.type == "bool" and attr.name != "use_locking"]
        for dtype in FLOATS + COMPLEX:
            rows.add(op, applied(op, dtype, **chosen), LOOSE.get(dtype, 2e-5))
            for flag in flags:
                rows.add(op, applied(op, dtype, **chosen), LOOSE.get(dtype, 2e-5), **{flag: flag != "update_slots"})
        rows.add(op, applied(op, np.float32, **chosen), 2e-5, use_locking=True)
        names_of = [arg.name for arg in definition.input_arg]
        for setting, values in [("l1", [0, 4]), ("l2", [0]), ("lr", [0.125]), ("lr_power", [-0.75, -1, 0]), ("momentum", [0]), ("global_step", [1])]:
            for value in values if setting in names_of else []:
                rows.add(op, applied(op, np.float32, **chosen, **{setting: value}), 2e-5)
        special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1])
        rows.add(op, applied(op, np.float32, (1, 6), **(dict(indices=[0]) if chosen else {}), gradient=special[None]), 2e-5)
        rows.add(op, applied(op, np.float32, (2, 3), indices=[], **{}) if chosen else applied(op, np.float32, (0, 3)), 2e-5)
        if chosen:
            rows.add(op, applied(op, np.float32, (3,), **chosen), 2e-5)
            rows.add(op, applied(op, np.float32, (3, 2, 1), indices=[2]), 2e-5)
            for bad in [[2, 0, 0], [0, -1, 0]]:
                rows.add(op, applied(op, np.float32, indices=bad), text=False)
            rows.add(op, applied(op, np.float32, indices=[0, 1], gradient=np.zeros([3, 3])), text=False)
        rows.add(op, applied(op, np.float32, **chosen, gradient=np.zeros([3, 2])), text=False)
        rows.add(op, applied(op, np.float32, **chosen, variable=np.zeros([4, 3])), text=False)
        scalar = [name for name in names_of if name in SETTINGS][0]
        rows.add(op, applied(op, np.float32, **chosen, **{scalar: [1, 2]}), text=False)
        if "Ftrl" in op:
            for bad in [dict(lr=0), dict(lr=-1), dict(l1=-1), dict(l2=-1), dict(lr_power=1)] + ([dict(l2_shrinkage=-1)] if "V2" in op else []):
                rows.add(op, applied(op, np.float32, **chosen, **bad), text=False)
        if "Proximal" in op:
            for bad in [dict(l1=-1), dict(l2=-1)] + ([dict(lr=0)] if "lr" in names_of else []):
                rows.add(op, applied(op, np.float32, **chosen, **bad), text=False)


def added(rows):
    for op in ["AssignAddVariableOp", "AssignSubVariableOp", "AssignAdd", "AssignSub"]:
        for dtype in FLOATS + INTEGERS + COMPLEX:
            rows.add(op, [Variable(numbers(dtype, 4, 2)), numbers(dtype, 4, 2)[::-1]], LOOSE.get(dtype))
        rows.add(op, [Variable(np.array([127, -128], np.int8)), np.array([1, 1], np.int8)])
        rows.add(op, [Variable(np.zeros([0, 2], np.uint32)), np.zeros([0, 2], np.uint32)])
        rows.add(op, [Variable(np.zeros([2], np.float16)), np.zeros([3], np.float16)], text=False)


def count(rows):
    for op in ["CountUpTo", "ResourceCountUpTo"]:
        for dtype in [np.int32, np.int64]:
            for start, limit in [(0, 2), (1, 2), (2, 2), (-5, 0), (3, 2)]:
                attrs = {} if op == "CountUpTo" else dict(T=dtype)
                rows.add(op, [Variable(np.array(start, dtype))], limit=limit, **attrs)


def inplace(rows):
    for op in ["InplaceUpdate", "InplaceAdd", "InplaceSub"]:
        for dtype in FLOATS + INTEGERS + COMPLEX + [np.bool_] * (op == "InplaceUpdate"):
            rows.add(op, [numbers(dtype, 4, 2), np.array([2, 0, 2], np.int32), numbers(dtype, 3, 2)], LOOSE.get(dtype))
        x = np.arange(6, dtype=np.float32).reshape(3, 2)
        for i in [[], [1], [-1, 3], [7, -7]]:
            rows.add(op, [x, np.array(i, np.int32), np.ones([len(i), 2], np.float32)])
        rows.add(op, [x, np.int32(0), np.ones([1, 2], np.float32)], text=False)
        for shape in [[2, 2], [1, 3], [2], [1, 2, 1]]:
            rows.add(op, [x, np.array([0], np.int32), np.ones(shape, np.float32)])
    for shape in [[], [2], [0, 3], [2, 1]]:
        rows.add("Empty", [np.array(shape, np.int32)], dtype=np.float32, init=True)
        rows.add("Empty", [np.array(shape, np.int32)], dtype=tf.string, init=True)
        rows.add("FakeParam", [], uninitialised=True, dtype=np.float32, shape=shape)
    for wrong in [-1, [-1], [[1]]]:
        rows.add("Empty", [np.array(wrong, np.int32)], text=False, dtype=np.int32)
    rows.add("DestroyResourceOp", [Variable(np.float32(1))])  # the variable cannot be read after it
    rows.add("DisableCopyOnRead", [Variable(np.float32(1))])


def state():
    rows = StateRows("state")
    for part in [scatter, scatter_nd, gather, gather_nd, slice_assign, added, count, inplace]:
        part(rows)
    rows.write()


def state_optimizers():
    rows = StateRows("state_optimizers")
    training(rows)
    rows.write()


FAMILIES = [state, state_optimizers]
