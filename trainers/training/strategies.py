"""Distribution strategies by name."""

import os
import signal

import tensorflow as tf

from trainers.training.cluster import Cluster

# Tables below this size, such as most relation tables, stay whole on one server.
_MIN_SHARD_BYTES = 256 << 10


def make_strategy(name: str, num_replicas: int) -> tf.distribute.Strategy:
    """Returns a strategy; must be called before TensorFlow runs its first op.

    `multi_worker` and `parameter_server` read TF_CONFIG, and return when all processes are there.

    Args:
        name: `default`; `one_device`: the first GPU, or the CPU; `mirrored`: all GPUs, or logical
            CPU devices for development, which share the cores and are slower than `default`;
            `multi_worker`: the devices of all workers; `parameter_server`: tables on servers.
        num_replicas: How many logical CPU devices `mirrored` makes.

    Raises:
        ConfigError: TF_CONFIG is missing, malformed, or not for this strategy.
    """
    cluster = Cluster.from_environment(name)
    if cluster.addresses:
        # It notes each collective, and warns that it traces its own saving again.
        tf.get_logger().setLevel("ERROR")
    if name == "one_device":
        gpus = tf.config.list_logical_devices("GPU")
        return tf.distribute.OneDeviceStrategy("GPU:0" if gpus else "CPU:0")
    if name == "mirrored":
        return _mirrored(num_replicas)
    if name == "multi_worker":
        return tf.distribute.MultiWorkerMirroredStrategy()
    if name == "parameter_server":
        tf.config.threading.set_inter_op_parallelism_threads(_num_threads(cluster))
        return tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc"),
            tf.distribute.experimental.partitioners.MinSizePartitioner(
                _MIN_SHARD_BYTES, max_shards=cluster.count("ps")
            ),
        )
    return tf.distribute.get_strategy()


def serve(cluster: Cluster) -> None:
    """Does what the coordinator asks for, as a parameter server or a worker; never returns."""
    # The wait is not Python's, which would not get to see a Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    make_server(cluster, cluster.job, cluster.index).join()


def make_server(cluster: Cluster, job: str, index: int) -> tf.distribute.Server:
    """Starts the server of a task of `parameter_server`."""
    return tf.distribute.Server(
        {name: list(hosts) for name, hosts in cluster.addresses.items()},
        job_name=job,
        task_index=index,
        protocol="grpc",
        config=tf.compat.v1.ConfigProto(inter_op_parallelism_threads=_num_threads(cluster)),
    )


def _num_threads(cluster: Cluster) -> int:
    """Enough to wait with: a step whose every thread waits for another process never ends.

    TensorFlow's default is a thread a core, which was seen to be too few on two cores.
    """
    return max(16, os.cpu_count() or 1, 4 * cluster.count("worker"))


def ranking_strategy(strategy: tf.distribute.Strategy) -> tf.distribute.Strategy:
    """Returns the strategy whose replicas share a ranking.

    With parameter servers that is the coordinator alone, with a copy of the model.
    """
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        return tf.distribute.get_strategy()
    return strategy


def chief_value(strategy: tf.distribute.Strategy, value: float) -> float:
    """Returns the chief's value in every worker, all of which have to ask for it.

    What workers decide by a clock of their own, they would not decide alike.
    """
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return value
    return float(_chief_value(strategy, tf.constant(value, tf.float64)))


@tf.function(autograph=False)
def _chief_value(strategy: tf.distribute.Strategy, value: tf.Tensor) -> tf.Tensor:
    def of_first_replica(value: tf.Tensor) -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        is_first = tf.equal(context.replica_id_in_sync_group, 0)
        return context.all_reduce("SUM", tf.where(is_first, value, 0.0))

    return strategy.experimental_local_results(strategy.run(of_first_replica, (value,)))[0]


def _mirrored(num_replicas: int) -> tf.distribute.Strategy:
    if tf.config.list_physical_devices("GPU"):
        return tf.distribute.MirroredStrategy()
    (cpu, *_) = tf.config.list_physical_devices("CPU")
    if len(tf.config.get_logical_device_configuration(cpu) or []) < num_replicas:
        logical = [tf.config.LogicalDeviceConfiguration()] * num_replicas
        tf.config.set_logical_device_configuration(cpu, logical)
    # Reduction through one device, not collectives: the replicas are threads of one process.
    return tf.distribute.MirroredStrategy(
        [f"CPU:{index}" for index in range(num_replicas)],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )
