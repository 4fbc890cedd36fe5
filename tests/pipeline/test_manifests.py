"""What the guide to clusters tells people to set, read by Spark's own code without a cluster."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from headwater.stack import Settings, java_home

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
MANIFEST = (GUIDES / "worker-on-kubernetes.yaml").read_text()
# What follows these is a name of the user's.
FREE = ("spark.headwater.", "spark.yarn.appMasterEnv.", "spark.executorEnv.",
        "spark.kubernetes.driverEnv.", "spark.kubernetes.driver.secretKeyRef.")  # fmt: skip
OPTIONS = ("deploy.k8s.Config$", "deploy.yarn.config.package$", "internal.config.package$")


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    java = java_home(Settings.read({})) / "bin" / "java"
    jars = f"{Path(pyspark.__file__).parent / 'jars'}/*"
    port = launch_gateway(classpath=jars, java_path=str(java), die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    for name in OPTIONS:  # a package's options are known once it is loaded
        gateway.jvm.java.lang.Class.forName(f"org.apache.spark.{name}")
    yield gateway.jvm
    gateway.shutdown()


def test_spark_knows_every_option_that_the_guide_names(jvm: Any) -> None:
    text = (GUIDES / "clusters.md").read_text() + MANIFEST
    named = {one.rstrip(".") for one in re.findall(r"\bspark(?:\.[A-Za-z0-9]+)+", text)}
    wanted = {one for one in named if not one.startswith(FREE)} - {"spark.headwater"}
    find = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry
    assert wanted
    assert not {one for one in wanted if find(one) is None}


def test_kubernetes_own_client_reads_the_manifest(jvm: Any) -> None:
    client = jvm.io.fabric8.kubernetes.client.utils.KubernetesSerialization()
    for document in yaml.safe_load_all(MANIFEST):
        typed = client.unmarshal(yaml.safe_dump(document))
        assert typed.getKind() == document["kind"]
        assert not typed.getAdditionalProperties()
    account, role, binding, service, deployment = yaml.safe_load_all(MANIFEST)
    pod = deployment["spec"]["template"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    (subject,) = binding["subjects"]
    names = {subject["name"], pod["spec"]["serviceAccountName"], account["metadata"]["name"]}
    assert len(names) == 1
    assert service["spec"]["selector"] == pod["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
    assert deployment["spec"]["strategy"]["type"] == "Recreate"  # two workers would share a state


def test_spark_makes_executors_of_what_the_manifest_says(jvm: Any) -> None:
    *_, deployment = yaml.safe_load_all(MANIFEST)
    (worker,) = deployment["spec"]["template"]["spec"]["containers"]
    variables = {one["name"]: one.get("value", "") for one in worker["env"]}
    submit = variables["PYSPARK_SUBMIT_ARGS"].replace("$(POD_IP)", "10.0.0.1")
    conf = jvm.org.apache.spark.SparkConf(False)
    for given in (one for one in shlex.split(submit) if "=" in one):
        conf.set(*given.split("=", 1))
    pod = _executor(jvm, conf)
    assert pod.container().getImage() == worker["image"]
    assert pod.pod().getSpec().getServiceAccountName() == "headwater-worker"
    environ = {one.getName(): one.getValue() for one in pod.container().getEnv()}
    assert "@10.0.0.1:" in environ["SPARK_DRIVER_URL"]
    assert environ["SPARK_EXECUTOR_MEMORY"] == "1024m"


def _executor(jvm: Any, conf: Any) -> Any:
    """The pod that Spark would ask Kubernetes for."""
    spark, fabric8 = jvm.org.apache.spark, jvm.io.fabric8.kubernetes.client
    none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    conf.set("spark.driver.port", "7078")
    wanted = spark.deploy.k8s.KubernetesConf.createExecutorConf(conf, "1", "app", none, 0)
    address = fabric8.ConfigBuilder().withMasterUrl("https://127.0.0.1:1").build()
    client = fabric8.KubernetesClientBuilder().withConfig(address).build()
    profiles = getattr(getattr(spark.resource, "ResourceProfile$"), "MODULE$")
    builder = spark.scheduler.cluster.k8s.KubernetesExecutorBuilder()
    secret = spark.internal.config.ConfigEntry.findEntry("spark.authenticate.secret.file")
    security = spark.SecurityManager(conf, none, secret)
    built = builder.buildFromFeatures(
        wanted, security, client, profiles.getOrCreateDefaultProfile(conf)
    )
    client.close()
    return built.pod()
