#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# examples/deploy/kubernetes without a cluster: the manifests against the API's schema, strictly, as written and as
# Kustomize renders the component onto a workload; and the pod of job.yaml played by hand: its commands and environments
# with a folder for each volume, steady on the simulated device as the job, a window asked for from the other container.
set -eu
B=$(realpath "${BUILD:-build}"); here=$(realpath "$(dirname "$0")")
why=$(scripts/setup deploy 2>&1) || { echo "$why"; echo "skip: no schema of Kubernetes (scripts/setup deploy)"; exit 77; }
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
unset LD_PRELOAD LD_LIBRARY_PATH WARPTAP_DIR WARPTAP_LEVEL || :
die() { echo "FAIL: $*"; cat "$T/log" 2>/dev/null; exit 1; }
valid() { build/deploy-venv/bin/kubernetes-validate --strict -k "$1" "$2" >"$T/log" 2>&1 || die "$2 against $1"; }
for v in 1.29 1.33; do valid $v examples/deploy/kubernetes/job.yaml; done
sed 's/restartPolicy: Never/restartPolice: Never/' examples/deploy/kubernetes/job.yaml >"$T/bad.yaml"
(valid 1.33 "$T/bad.yaml") >/dev/null && die "the schema takes anything"

mkdir "$T/k"; cp -r examples/deploy/kubernetes/component "$T/k/component"
cat >"$T/k/work.yaml" <<-'Y'
	{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "serve", "labels": {"warptap": "true"}}, "spec":
	  {"selector": {"matchLabels": {"app": "s"}}, "template": {"metadata": {"labels": {"app": "s"}}, "spec": {"containers":
	    [{"name": "main", "image": "x", "env": [{"name": "A", "value": "b"}]}, {"name": "side", "image": "y"}]}}}}
	---
	{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "other"}, "spec": {"selector": {"matchLabels":
	  {"app": "o"}}, "template": {"metadata": {"labels": {"app": "o"}}, "spec": {"containers": [{"name": "main", "image": "x"}]}}}}
Y
cat >"$T/k/kustomization.yaml" <<-'Y'
	{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["work.yaml"],
	 "components": ["component"]}
Y
if command -v kubectl >/dev/null; then
	kubectl kustomize "$T/k" >"$T/rendered.yaml" 2>"$T/log" || die "kustomize"
	valid 1.33 "$T/rendered.yaml"
else
	echo "no kubectl here: the component was not rendered"
fi
make -s --no-print-directory O="$B" install DESTDIR="$T/image" prefix=/opt/warptap >"$T/log" 2>&1 || die "make install"
build/deploy-venv/bin/python "$here/deploy_pod.py" "$T" "$B"
