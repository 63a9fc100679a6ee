"""devops-bench: which agent, model and configuration can be let near our infrastructure?"""

from devops_bench._version import __version__

__all__ = ["__version__"]
