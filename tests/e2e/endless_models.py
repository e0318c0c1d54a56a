"""Models with a loop that never ends: in their init op, or in their signature."""
import tiny_model


def add_function(b, name, op, *inputs, result, output):
    """A function of one int32, i, that returns the output of its only node."""
    function = b.meta.graph_def.library.function.add()
    function.signature.name = name
    function.signature.input_arg.add(name="i", type=3)
    function.signature.output_arg.add(name="r", type=result)
    function.node_def.add(name="n", op=op, input=inputs).attr["T"].type = 3
    function.ret["r"] = "n:" + output


def add_loop(b, start):
    """The node "loop": i = start; while i == i: i = -i. (If i stayed the same, its value would need no loop.)"""
    add_function(b, "goes_on", "Equal", "i", "i", result=10, output="z:0")
    add_function(b, "changes", "Neg", "i", result=3, output="y:0")
    b.node("loop", "While", start, T=("list", ("type", [3])))
    loop = b.meta.graph_def.node[-1]
    loop.attr["cond"].func.name, loop.attr["body"].func.name = "goes_on", "changes"


def write_endless_init(directory):
    b = tiny_model.Builder()
    b.const("zero", 3, [], [0])
    add_loop(b, "zero")
    b.node("init", "NoOp", "^loop")
    b.placeholder("x", 1, [-1])
    b.node("y", "Neg", "x", T=("type", 1))
    b.signature("serving_default", "predict", {"x": ("x:0", 1, [-1])}, {"y": ("y:0", 1, [-1])})
    b.signature("__saved_model_init_op", "", {}, {"__saved_model_init_op": ("init", 0, [])})
    tiny_model.save(b.model, directory)


def write_endless_signature(directory):
    b = tiny_model.Builder()
    b.placeholder("x", 1, [-1, 1])
    b.node("start", "Cast", "x", SrcT=("type", 1), DstT=("type", 3))
    add_loop(b, "start")
    b.node("y", "Cast", "loop", SrcT=("type", 3), DstT=("type", 1))
    b.signature("serving_default", "predict", {"x": ("x:0", 1, [-1, 1])}, {"y": ("y:0", 1, [-1, 1])})
    tiny_model.save(b.model, directory)
