#!/usr/bin/env python3
"""Writes serving_ops.def: the ops with a CPU kernel in the pip packages of TensorFlow and TensorFlow Text that a graph for inference may contain, sorted.

    python tests/golden/ops/serving_ops.py > tests/golden/ops/serving_ops.def

Made with TensorFlow and TensorFlow Text 2.21. docs/ops.md lists those that ops.def lacks. LEFT_OUT says which ops are not counted, and why.
"""
import os
import re

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow.core.framework import kernel_def_pb2, op_def_pb2  # noqa: E402
import tensorflow_text  # noqa: E402, F401
from tensorflow.python.client import pywrap_tf_session  # noqa: E402

LEFT_OUT = {
    "TensorFlow makes them from other ops when it runs a graph": r"_.*|(Host)?(Send|Recv)|Copy(Host)?|DeepCopy|HostConst|MakeWeakResourceHandle",
    "they belong to XLA or to other devices": r"Xla.*|DevicePlacementOp|IsTensorFloat32Enabled",
    "they train or evaluate across tasks": r"Collective.*|Rpc.*|Remote.*|.*Accumulator.*|Barrier.*|Sdca.*|DistributedSave|NegTrain|Skipgram"
                                           r"|KMC2.*|KmeansPlusPlus.*|LoadAndRemapMatrix|GenerateVocabRemapping|Batch|Unbatch(Grad)?|ComputeBatchSize",
    "they write summaries": r".*Summary(V2|Writer|DbWriter|FileWriter)?|ImportEvent|StatsAggregator.*|CalibrationStatisticsSaver",
    "they debug": r"Debug.*|DumpTensor|GetSession.*|DeleteSessionTensor|CheckPinned|CustomAggregator",
    "they call Python": r".*PyFunc.*",
    "they are rewritten datasets or their parts": r"Experimental.*|.*(Assert|Model|Optimize|Autoshard|AutoShard|Rewrite|Finalize|Options|Snapshot\w*|Stats|DataService)\w*Dataset\w*"
                                                  r"|(Snapshot|List).*|Dummy.*|ChooseFastest\w*|MultiDevice.*|Anonymous(Multi|Memory|Random|Seed).*|Delete(Multi|Memory|Random|Seed|Rpc).*"
                                                  r"|RegisterDataset\w*|Dataset(From|To)Graph\w*",
    "no node can choose their kernel, which asks for an attribute that the op does not have": "TopK|TileGrad",
    "they test TensorFlow": r"TestAttr|Old|KernelLabel\w*|ConstructionFails|FakeQueue|GraphDefVersion|ResourceCreateOp|ResourceInitializedOp|ResourceUsingOp|StubResourceHandleOp"
                            r"|Sleep(Identity)?Op|DtypeWithDefaultOp|GetDeadline|IsResourceHandleRefCounting|Ref(Identity|Select)|Fact|RiscAdd",
}

library = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
kernels = kernel_def_pb2.KernelList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllRegisteredKernels()))
names = {op.name for op in library.op} & {kernel.op for kernel in kernels.kernel if kernel.device_type == "CPU"}

print("/* Written by tests/golden/ops/serving_ops.py: one SERVING_OP for each op, sorted. */")
for name in sorted(names):
    if not any(re.fullmatch(pattern, name) for pattern in LEFT_OUT.values()):
        print("SERVING_OP(%s)" % name)
