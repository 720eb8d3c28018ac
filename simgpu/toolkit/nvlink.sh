#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvlink beside that ptxas: what it is given is PTX, and one text holds the kernels of all.
out=a.out
n=$#
while [ "$n" -gt 0 ]; do
	n=$((n - 1))
	case $1 in
	-V | --version)
		echo "nvlink: NVIDIA (R) Cuda linker"
		echo "Cuda compilation tools, release 13.0, V13.0.88"
		exit 0
		;;
	-o | --output-file) out=$2; shift; n=$((n - 1)) ;;
	-arch | --arch) shift; n=$((n - 1)) ;;
	-*) ;;
	*) set -- "$@" "$1" ;;
	esac
	shift
done
[ $# -gt 0 ] || { echo "nvlink fatal   : no input files" >&2; exit 1; }
cat -- "$@" >"$out"
