#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests to vLLM, offline: an ordinary script that knows nothing of warptap.

By default the model is a Llama of 4 layers with random weights, made on the spot: nothing is downloaded, and it fits any
GPU. The prompts are random token ids of different lengths, the answers too; requests come in waves, so that prompts are
worked on while others generate. --model takes a folder or a name that vLLM knows; --make only writes the small model,
for `vllm serve DIR --load-format dummy`.
"""
import argparse
import json
import os
import random
import tempfile
import time

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1024,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", help="a model's folder or name (default: a tiny Llama with random weights)")
    p.add_argument("--make", metavar="DIR", help="write that tiny model, with a tokenizer, and end")
    p.add_argument("--requests", type=int, default=12)
    p.add_argument("--waves", type=int, default=2, help="the requests come in so many parts")
    p.add_argument("--prompt", type=int, default=64, help="mean length of a prompt in tokens")
    p.add_argument("--shortest", type=int, default=4, help="least length of a prompt")
    p.add_argument("--output", type=int, default=12, help="mean number of tokens to generate")
    p.add_argument("--budget", type=int, default=512, help="tokens an iteration may work on: longer prompts go in parts")
    p.add_argument("--running", type=int, default=8, help="requests that run at the same time")
    p.add_argument("--tp", type=int, default=1, help="GPUs that share each layer")
    p.add_argument("--eager", action="store_true", help="no torch.compile and no CUDA graphs")
    p.add_argument("--pieces", action="store_true", help="graphs only for what is between attention and attention")
    p.add_argument("--nccl-only", action="store_true", help="no all-reduce kernels of vLLM's own")
    p.add_argument("--largest", type=int, help="tokens of the largest graph (default: vLLM's, by --running)")
    p.add_argument("--log-iterations", action="store_true", help="vLLM says what each iteration worked on")
    p.add_argument("--annotate", action="store_true", help="vLLM names each iteration in an NVTX range")
    p.add_argument("--profile", metavar="DIR", help="vLLM's torch profiler beside: its annotations are recorded too")
    p.add_argument("--save", metavar="FILE", help="the tokens of each answer, as JSON")
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def make(where):
    """A configuration is all that random weights need; the tokenizer has a word for each number."""
    words = {"<unk>": 0, "<s>": 1, "</s>": 2} | {"w%d" % i: i for i in range(3, CONFIG["vocab_size"])}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": w, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for w, i in words.items() if i < 3],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"},
    }
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    os.makedirs(where, exist_ok=True)
    for name, data in (("config.json", CONFIG), ("tokenizer.json", tokenizer), ("tokenizer_config.json", about)):
        with open(os.path.join(where, name), "w") as f:
            json.dump(data, f)


def options(args):
    if args.model:
        o = {"model": args.model}
    else:
        where = tempfile.mkdtemp(prefix="llama-")
        make(where)
        o = {"model": where, "load_format": "dummy", "skip_tokenizer_init": True, "max_model_len": 1024}
    if args.profile:
        o["profiler_config"] = {"profiler": "torch", "torch_profiler_dir": os.path.abspath(args.profile)}
    elif args.annotate:
        o["profiler_config"] = {"profiler": "cuda"}
    graphs = {"cudagraph_mode": "PIECEWISE"} if args.pieces else {}
    if args.largest:
        graphs["max_cudagraph_capture_size"] = args.largest
    if graphs:
        o["compilation_config"] = graphs
    if args.log_iterations:
        o.update(disable_log_stats=False, enable_logging_iteration_details=True)
    return o


def work(args, rng):
    from vllm import SamplingParams
    for _ in range(args.requests):
        n = max(args.shortest, int(rng.expovariate(1 / args.prompt)) % 900 + 2)
        out = 1 + rng.randrange(2 * args.output)
        yield ({"prompt_token_ids": [rng.randrange(3, 1000) for _ in range(n)]},
               SamplingParams(max_tokens=out, temperature=0, ignore_eos=True, detokenize=bool(args.model)))


def serve(args, engine, waiting):
    """All answers by the number of the request."""
    wave, steps, answers = -(-len(waiting) // args.waves), 0, {}
    while waiting or engine.has_unfinished_requests():
        # The next wave comes while the one before generates.
        if waiting and steps % 6 == 0:
            for number, (prompt, params) in waiting[:wave]:
                engine.add_request(str(number), prompt, params)
            del waiting[:wave]
        for out in engine.step():
            if out.finished:
                answers[int(out.request_id)] = (len(out.prompt_token_ids), list(out.outputs[0].token_ids))
        steps += 1
    return answers


def main():
    args = arguments()
    if args.make:
        return make(args.make)
    from vllm import LLM
    llm = LLM(enforce_eager=args.eager, tensor_parallel_size=args.tp, disable_custom_all_reduce=args.nccl_only,
              max_num_seqs=args.running, max_num_batched_tokens=args.budget, enable_prefix_caching=False,
              seed=args.seed, **options(args))
    if args.profile or args.annotate:
        llm.start_profile()
    start = time.monotonic()
    answers = serve(args, llm.llm_engine, list(enumerate(work(args, random.Random(args.seed)))))
    seconds = time.monotonic() - start
    if args.profile or args.annotate:
        llm.stop_profile()
    if args.save:
        with open(args.save, "w") as f:
            json.dump(answers, f, sort_keys=True)
    tokens = sum(len(t) for _, t in answers.values())
    print("%d requests, %d prompt tokens, %d tokens generated in %.2f s: %.0f tokens/s" %
          (len(answers), sum(n for n, _ in answers.values()), tokens, seconds, tokens / seconds), flush=True)


if __name__ == "__main__":
    main()
