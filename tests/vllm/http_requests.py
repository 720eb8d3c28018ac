#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completions asked of `vllm serve` on this machine, two at a time, some of them streamed; the answers as JSON.

usage: http_requests.py PORT SERVER_PID OUT.json
"""
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request

PORT, SERVER, OUT = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
URL = "http://127.0.0.1:%d" % PORT
PROMPTS = ["w5 w6 w7", [9, 8, 7, 6, 5] * 9, "w100 w200", list(range(10, 150)), [4] * 21, "w9"]


def wait_until_ready():
    for _ in range(1200):
        try:
            urllib.request.urlopen(URL + "/health", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            os.kill(SERVER, 0)  # it has ended: nothing to wait for
            time.sleep(0.25)
    sys.exit("the server is not ready after five minutes")


def ask(number, answers):
    prompt = PROMPTS[number]
    body = {"model": "tiny", "prompt": prompt, "max_tokens": 4 + 3 * number, "temperature": 0, "ignore_eos": True,
            "return_token_ids": True, "stream": number % 2 == 1}
    request = urllib.request.Request(URL + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    tokens, reason = [], None
    with urllib.request.urlopen(request, timeout=120) as reply:
        if not body["stream"]:
            choice = json.load(reply)["choices"][0]
            tokens, reason = choice["token_ids"], choice["finish_reason"]
        else:
            for line in reply:
                if not line.startswith(b"data: {"):
                    continue
                for choice in json.loads(line[6:])["choices"]:
                    tokens += choice.get("token_ids") or []
                    reason = choice["finish_reason"] or reason
    answers[number] = {"status": reply.status, "tokens": tokens, "finish_reason": reason}


def main():
    wait_until_ready()
    answers = {}
    for first in range(0, len(PROMPTS), 2):
        pair = [threading.Thread(target=ask, args=(n, answers)) for n in (first, first + 1)]
        for t in pair:
            t.start()
        for t in pair:
            t.join()
    assert len(answers) == len(PROMPTS), answers
    for n, a in answers.items():
        assert a["status"] == 200 and len(a["tokens"]) == 4 + 3 * n and a["finish_reason"] == "length", (n, a)
    with open(OUT, "w") as f:
        json.dump(answers, f, sort_keys=True)


main()
