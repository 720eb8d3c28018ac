# SPDX-License-Identifier: Apache-2.0
"""Plays the pod of examples/deploy/kubernetes/job.yaml and of the rendered component. Called by deploy-kubernetes.sh.

usage: deploy_pod.py DIR BUILD      DIR/image: what is installed in the image of warptap; DIR/rendered.yaml or not there
"""
import json
import os
import subprocess
import sys
import time

import yaml

DIR, BUILD = sys.argv[1:]


def place(container, text):
    """A path in a container, on this machine: of its image, or of the folder that stands for a volume."""
    mounts = {m["mountPath"]: m["name"] for m in container.get("volumeMounts", [])}
    if text.startswith("/opt/warptap/") and container["image"].startswith("warptap:"):
        return DIR + "/image" + text
    for path, volume in mounts.items():
        if text == path or text.startswith(path.rstrip("/") + "/"):
            return "%s/volume/%s%s" % (DIR, volume, text[len(path.rstrip("/")):])
    return text


def environment(container, **more):
    env = {"PATH": os.environ["PATH"], **more}
    env.update({e["name"]: place(container, e["value"]) for e in container.get("env", [])})
    return env


def pod(path, name):
    with open(path) as f:
        found = [d for d in yaml.safe_load_all(f) if d["metadata"]["name"] == name]
    assert len(found) == 1, (path, name)
    spec = found[0]["spec"]["template"]["spec"]
    volumes = {v["name"] for v in spec.get("volumes", [])}
    for c in spec["containers"] + spec.get("initContainers", []):
        assert {m["name"] for m in c.get("volumeMounts", [])} <= volumes, (name, c["name"])
    return spec, {c["name"]: c for c in spec["containers"] + spec.get("initContainers", [])}, volumes


def run(container, command, good=(0,)):
    done = subprocess.run([place(container, word) for word in command], env=environment(container),
                          stdout=subprocess.PIPE, text=True)
    assert done.returncode in good, done
    return done.stdout


def play(path, name, main, put, beside):
    spec, containers, volumes = pod(path, name)
    for v in volumes:
        os.makedirs("%s/volume/%s" % (DIR, v), exist_ok=True)
    run(containers[put], containers[put]["command"])
    job, steady = containers[main], [BUILD + "/tests/cli/steady", "seconds=20", "rate=2000"]
    env = environment(job, LD_LIBRARY_PATH=BUILD + "/simgpu/lib")
    assert os.path.exists(env["LD_PRELOAD"]) and os.path.isdir(env["WARPTAP_DIR"]), env
    work = subprocess.Popen(steady, env=env, stdout=subprocess.PIPE, text=True)
    other = dict(containers[beside]) if beside else dict(job, image="warptap:")
    attach = ["/opt/warptap/bin/warptap", "attach", str(work.pid)]  # a pod has no processes but its own: --all
    status = [place(other, w) for w in attach + ["status"]]
    for _ in range(100):
        if not subprocess.call(status, env=environment(other), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            break
        time.sleep(0.1)
    assert "--all window" in open("examples/deploy/kubernetes/job.yaml").read()
    run(other, attach + ["window", "--for", "1s"])
    work.terminate()  # as a pod's end does: the trace is one of a killed job
    work.wait()
    report = json.loads(run(other, ["/opt/warptap/bin/warptap", "report", "--json", env["WARPTAP_DIR"]], (0, 3)))
    assert report["completeness"]["received"]["launch"] > 500, report["completeness"]
    assert spec.get("shareProcessNamespace") or not beside


play("examples/deploy/kubernetes/job.yaml", "train", "train", "put", "warptap")
if os.path.exists(DIR + "/rendered.yaml"):
    spec, containers, _ = pod(DIR + "/rendered.yaml", "serve")
    assert {e["name"] for e in containers["main"]["env"]} == {"A", "LD_PRELOAD", "WARPTAP_DIR", "WARPTAP_LEVEL"}
    assert "env" not in containers["side"] and containers["main"]["image"] == "x"
    spec, containers, _ = pod(DIR + "/rendered.yaml", "other")
    assert list(containers) == ["main"] and "env" not in containers["main"]
    os.rename(DIR + "/volume", DIR + "/volume.job")
    os.environ.pop("XDG_RUNTIME_DIR", None)
    play(DIR + "/rendered.yaml", "serve", "main", "warptap", None)
print("ok")
