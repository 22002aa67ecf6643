"""The report of a run as a page, with its optional packages."""

import importlib.util

from quatre_tf.errors import ConfigError

_PACKAGES = ("matplotlib", "sklearn")


def check_extra() -> None:
    """Raises ConfigError, with the command that helps, unless the extra is installed."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"The report needs the extra `analysis`: pip install 'quatre-tf[analysis]' "
            f"(missing: {', '.join(missing)})."
        )
