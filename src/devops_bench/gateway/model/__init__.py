"""The model gateway: one loopback server per attempt in front of a provider or a scripted model."""

from devops_bench.gateway.model.caps import Caps, End, Patience, Spent
from devops_bench.gateway.model.forward import Forward
from devops_bench.gateway.model.gateway import ModelGateway, new_token
from devops_bench.gateway.model.reach import speaks, wire_for
from devops_bench.gateway.model.scripted import Scripted

__all__ = ["Caps", "End", "Forward", "ModelGateway", "Patience", "Scripted", "Spent", "new_token", "speaks", "wire_for"]
