"""gcloud, aws and az: does this command make, change or delete a cluster, and which one?

Each judge finds the command's words, lets through what only looks, and otherwise wants to see the own cluster's name,
and only that. Credentials for a foreign cluster count as a change: they point kubectl at it.
"""

from __future__ import annotations

from devops_bench.guard.types import Call, GuardContext, Refusal, Rule
from devops_bench.guard.words import Grammar, Parsed, listed, parse

_GCLOUD_GROUPS = frozenset(["clusters", "node-pools", "memberships", "admin-clusters"])
_LOOKING = ("list", "describe", "get", "show", "check", "wait", "help", "browse")

GCLOUD = Grammar(
    values=listed(
        "project account configuration format filter flags-file impersonate-service-account access-token-file verbosity"
        " billing-project trace-token zone region location cluster node-pool cluster-version master-version num-nodes"
        " size machine-type disk-size disk-type image-type network subnetwork release-channel labels update-labels"
        " remove-labels min-nodes max-nodes node-locations node-version tags logging monitoring sort-by limit page-size"
        " update-addons addons workload-pool security-posture maintenance-window-start maintenance-window-end"
    ),
    flags=listed("quiet async help log-http user-output-enabled master all force start-ip-rotation"),
    letters="z",
    prefixes=True,
)
AWS = Grammar(
    values=listed(
        "profile region output endpoint-url query color ca-bundle cli-read-timeout cli-connect-timeout name"
        " cluster-name nodegroup-name cli-input-json cli-input-yaml kubeconfig alias role-arn resources-vpc-config"
        " kubernetes-version version scaling-config update-config fargate-profile-name addon-name logging"
    ),
    flags=listed("debug no-verify-ssl no-paginate no-sign-request no-cli-pager dry-run help force"),
    prefixes=True,
)
AZ = Grammar(
    values=listed(
        "name resource-group subscription output query cluster-name nodepool-name ids resource-type namespace"
        " kubernetes-version node-count location file context resource-names"
    ),
    flags=listed("debug verbose only-show-errors help yes no-wait admin overwrite-existing"),
    letters="ngoqlckf",
    prefixes=True,
)


def gcloud(call: Call, context: GuardContext) -> Refusal | None:
    """`gcloud [alpha|beta|preview] container ...`, and what deletes a whole project."""
    line = parse(call.args, GCLOUD)
    words = list(line.words)
    if words and words[0] in {"alpha", "beta", "preview"}:
        words = words[1:]
    if words[:2] == ["projects", "delete"]:
        return call.refuse(Rule.FOREIGN_CLUSTER, "it would delete a whole project")
    if words[:1] != ["container"]:
        return None
    if line.has("flags-file"):
        return call.refuse(Rule.FOREIGN_CLUSTER, "a flags file hides which cluster is meant")
    at = next((at for at, word in enumerate(words) if word in _GCLOUD_GROUPS), None)
    if at is None:
        return None
    group, verb, names = words[at], (words[at + 1] if len(words) > at + 1 else ""), words[at + 2 :]
    if group == "node-pools":
        names = list(line.all("cluster"))
        verb = "add" if verb == "create" else verb
    return _cluster(call, context, line, verb, names)


def aws(call: Call, context: GuardContext) -> Refusal | None:
    """`aws eks ...`."""
    line = parse(call.args, AWS)
    if line.words[:1] != ("eks",) or len(line.words) < 2:
        return None
    if line.has("cli-input-json", "cli-input-yaml"):
        return call.refuse(Rule.FOREIGN_CLUSTER, "an input file hides which cluster is meant")
    verb = line.words[1]
    below = verb.endswith(("nodegroup", "nodegroup-config", "nodegroup-version", "addon", "fargate-profile"))
    names = line.all("cluster-name") if below else line.all("name", "cluster-name")
    if below and verb.startswith("create-"):
        verb = verb.replace("create", "add", 1)
    return _cluster(call, context, line, verb, list(names))


def az(call: Call, context: GuardContext) -> Refusal | None:
    """`az aks ...`, and what deletes a resource group or a cluster by its id."""
    line = parse(call.args, AZ)
    words = line.words
    if words[:2] == ("group", "delete"):
        return call.refuse(Rule.FOREIGN_CLUSTER, "it would delete a whole resource group")
    if words[:1] == ("resource",) and words[1:2] in {("delete",), ("update",), ("patch",), ("invoke-action",)}:
        ids = " ".join([*line.all("ids", "resource-type"), *words[2:]]).lower()
        if "managedclusters" not in ids:
            return None
        return _cluster(call, context, line, words[1], [*line.all("ids", "name", "n"), *words[2:]])
    if words[:1] != ("aks",) or len(words) < 2:
        return None
    if words[1] in {"nodepool", "maintenanceconfiguration", "machine", "trustedaccess", "mesh", "approuting"}:
        at = 3 if words[2:3] in {("rolebinding",), ("role",), ("zone",)} else 2
        verb = words[at] if len(words) > at else ""
        names = [*line.all("cluster-name"), *(line.all("name", "n") if words[1] in {"mesh", "approuting"} else ())]
        return _cluster(call, context, line, verb, [*names, *line.all("ids")])
    return _cluster(call, context, line, words[1], [*line.all("name", "n", "ids"), *words[2:]])


def _cluster(call: Call, context: GuardContext, line: Parsed, verb: str, names: list[str]) -> Refusal | None:
    """The common rule: looking is free, making is refused, anything else wants the own cluster by name."""
    credentials = verb in {"get-credentials", "update-kubeconfig"}
    if not verb or (verb.startswith(_LOOKING) and not credentials):
        return None
    if verb == "update-kubeconfig" and line.has("dry-run"):
        return None
    if verb.startswith(("create", "register", "import")) and "credential" not in verb:
        return call.refuse(Rule.NEW_CLUSTER, "it would make a new cluster")
    rule = Rule.FOREIGN_CONTEXT if credentials else Rule.FOREIGN_CLUSTER
    if not names:
        return call.refuse(rule, "it does not name its cluster")
    foreign = next((name for name in names if not context.owns_cluster(name)), None)
    if foreign is not None:
        return call.refuse(rule, f"cluster {foreign} is not of this task")
    for own, option in ((context.project, "project"), (context.location, "location")):
        options = ("location", "zone", "region", "z") if option == "location" else (option,)
        other = next((value for value in line.all(*options) if own and value != own), None)
        if other is not None:
            return call.refuse(rule, f"{option} {other} is not of this task")
    return None
