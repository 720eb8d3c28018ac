#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `vllm serve` and completions over HTTP: the engine is a spawned child of a server that launches nothing. Told to end
# by SIGTERM the server kills it before it has come to its exit handlers, or not: either way all it did is in the trace.
. tests/vllm/vllm_env.sh
"$python" examples/llm/serve_vllm.py --make "$tmp/model"

# The command line of a server in the array `command`, on a port of its own.
server() {
	port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	command=("${python%python}vllm" serve "$tmp/model" --served-model-name tiny --load-format dummy --host 127.0.0.1
		--port "$port" --max-model-len 1024 --max-num-seqs 8 --no-enable-prefix-caching
		--enable-logging-iteration-details "$@")
}

# ended PID: waits for it, at most a minute, and gives its exit code.
ended() {
	local rc=0 i
	for i in $(seq 240); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.25
	done
	kill -KILL "$1" 2>/dev/null && fail "the server did not end"
	wait "$1" || rc=$?
	echo $rc
}

asked() { # asked OUT.json LOG: requests to the server with process id $pid, then its end
	if ! "$python" tests/vllm/http_requests.py "$port" "$pid" "$1"; then
		kill -TERM "$pid" 2>/dev/null
		tail -n 40 "$2"
		fail "the requests failed"
	fi
	sleep 3 # the recorder asks CUPTI for what it holds at least once a second
	kill -TERM "$pid"
	ended "$pid" >"$2.rc"
}

server
bare h100,preload "${command[@]}" >"$tmp/serve.plain" 2>&1 &
pid=$!
asked "$tmp/serve.plain.json" "$tmp/serve.plain"
server
"$build/warptap" run --sim h100,preload -o "$tmp/serve" -- "${command[@]}" >"$tmp/serve.out" 2>&1 &
pid=$!
asked "$tmp/serve.answers" "$tmp/serve.out"
same serve
cmp "$tmp/serve.plain.rc" "$tmp/serve.out.rc" || fail "exit code $(cat "$tmp/serve.plain.rc"), $(cat "$tmp/serve.out.rc") under the agent"
complete serve --cut
iterations serve 95
