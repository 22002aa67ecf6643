"""Distribution strategies by name."""

import tensorflow as tf


def make_strategy(name: str, num_replicas: int) -> tf.distribute.Strategy:
    """Returns the strategy `default` or `mirrored`.

    `mirrored` uses all GPUs; without any, `num_replicas` logical CPU devices, for development: on
    one machine they share its cores and are slower than `default`. Must be called before
    TensorFlow runs its first op.
    """
    if name == "default":
        return tf.distribute.get_strategy()
    if tf.config.list_physical_devices("GPU"):
        return tf.distribute.MirroredStrategy()
    # Reduction through one device, not collectives: the replicas are threads of one process.
    return tf.distribute.MirroredStrategy(
        [f"CPU:{index}" for index in range(_make_logical_cpus(num_replicas))],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )


def _make_logical_cpus(count: int) -> int:
    if len(tf.config.get_logical_device_configuration(_cpu()) or []) < count:
        tf.config.set_logical_device_configuration(
            _cpu(), [tf.config.LogicalDeviceConfiguration()] * count
        )
    return count


def _cpu() -> "tf.config.PhysicalDevice":
    return tf.config.list_physical_devices("CPU")[0]
