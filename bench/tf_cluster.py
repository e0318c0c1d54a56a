"""One task of a TensorFlow parameter-server job, written like the MNIST programs of TensorFlow 1: the peer of pstrain's tasks.

    tf_cluster.py MODEL DATA PS_HOSTS WORKER_HOSTS JOB INDEX SECONDS

MODEL is softmax (784-10) or mlp (784-512-512-10), plain gradient descent, batches of 100, asynchronous. Worker 0 prints the global
steps a second of SECONDS, counted when all workers train; the other tasks run until they are killed."""
import os
import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

BATCH = 100


def read(directory):
    with open(os.path.join(directory, "train-images-idx3-ubyte"), "rb") as f:
        images = np.frombuffer(f.read()[16:], np.uint8).reshape(-1, 784).astype(np.float32) / 255
    with open(os.path.join(directory, "train-labels-idx1-ubyte"), "rb") as f:
        labels = np.eye(10, dtype=np.float32)[np.frombuffer(f.read()[8:], np.uint8)]
    return images, labels


def graph(model):
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
    value, width = x, 784
    for units in {"softmax": [10], "mlp": [512, 512, 10]}[model]:
        w = tf.Variable(tf.random_normal([width, units], stddev=0.05))
        value = tf.matmul(value, w) + tf.Variable(tf.zeros([units]))
        value, width = tf.nn.relu(value) if units != 10 else value, units
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=value))
    step = tf.train.get_or_create_global_step()
    return x, y, tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step), step


def main():
    model, data, ps, workers, job, index, seconds = sys.argv[1:]
    index, seconds = int(index), float(seconds)
    tf.disable_eager_execution()
    cluster = tf.train.ClusterSpec({"ps": ps.split(","), "worker": workers.split(",")})
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    images, labels = read(data)
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % index)):
        x, y, train, step = graph(model)
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
    random = np.random.RandomState(index)
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, config=config) as session:
        own = 0
        begun = begun_step = None
        while True:
            rows = random.randint(len(images), size=BATCH)
            now = session.run([train, step], {x: images[rows], y: labels[rows]})[1]
            own += 1
            if index == 0 and begun is None and now > 1.5 * own + 50:
                begun, begun_step = time.monotonic(), now  # the other workers train as well
            if begun is not None and time.monotonic() - begun >= seconds:
                print("%.1f steps/s" % ((now - begun_step) / (time.monotonic() - begun)), flush=True)
                os._exit(0)


if __name__ == "__main__":
    main()
