// What --help says.
#pragma once

#include <string_view>

namespace compare {

inline constexpr std::string_view help_text =
    R"(compare: what KV-cache codecs do to keys, values and attention, at equal rates.

  compare                                        every codec on the shipped data
  compare --keys k.npy --values v.npy --queries q.npy
                                                 on yours
  compare --source gaussian --dim 128            on Gaussian keys, as in the papers
  compare --scheme kv,kqv,qkqv,octopus/turboquant-prod
                                                 a codec for keys, another for values
  compare --codecs octopus,turboquant-mse --bits 2,3,4 --head 0:1 --csv out.csv --plot out.png

Input: .npy files, float16 or float32, little-endian, C order, every value finite. Head sizes d: 64, 80, 96, 128, 256,
unless the program was built with -DKVCODEC_COMPARE_DIMS=... for others.
  --keys FILE        [..., heads, tokens, d]. Without it: the shipped data.
  --values FILE      the same shape as the keys. Without it there are no output errors.
  --queries FILE     [..., query heads, tokens, d]. A multiple G of the key heads: query head h reads key head h / G.
                     With as many tokens as the keys attention is causal: query t sees keys 0 to t. Otherwise each sees
                     all keys. Without the file: 128 Gaussian queries a head, of a size that gives <q, k>/sqrt(d) a mean
                     square of 1 (for Gaussian keys: N(0, 1) queries).
  --query-step N     measure every Nth query (default 8). Causal ones with fewer than 64 keys to see are left out, unless
                     there are no others.
  --head LIST        only these key heads: 0,4 counts over all leading axes; 1:2 is head 2 of layer 1. All by default.
  --source SOURCE    made-up keys instead of files; --dim D (128) and --rows N (4096) give the shape. Values are independent
                     N(0, 1) coordinates, whatever the keys. Keys:
                       gaussian      independent N(0, 1) coordinates
                       student-t:NU  independent Student's t coordinates, NU >= 0.5 degrees of freedom: heavy tails
                       low-rank:R    in a random subspace of R dimensions
                       concentrated  N(0, 1), one row of them 16 times as long
                       one-hot       in turn one-hot, (1, 1), (1, 1/2) and constant: hard for rotations and codebooks
                       outliers      N(0, 1), two channels 50 times as large
                       bias          N(0, 1) and one constant row of norm 700, as from a bias in the model
                     Queries are the Gaussian ones above; for concentrated and bias they are N(0, 1).

Codecs:
  --codecs LIST      octopus, octopus-qjl, turboquant-mse, turboquant-prod, polarquant, polarquant-block, lloyd-max (no
                     rotation), float16, bfloat16, or all (the default).
  --scheme LIST      schemes, each a line of the table: keys by one codec, values by another. Without --codecs, only these
                     and float16. At --bits B they are
                       kv            lloyd-max for both
                       kqv           turboquant-mse for keys, turboquant-prod for values: B - 1 bits and one of QJL
                       qkqv          turboquant-prod for both
                       KEY/VALUE     any two codecs, such as octopus/turboquant-prod. KEY:3/VALUE:2 names widths apart,
                                     and --bits says nothing of it; polarquant-block, float16 and bfloat16 have their own.
  --bits LIST        their widths, or all; default 1,2,3,4. float16 and bfloat16 have one only and take part whatever
                     widths are named.
  --offset           calibrate: for each head, the robust mean (midmean) of its own keys is taken off the keys before
                     coding, and that of its values off the values; decoding adds it again. The means come from the very
                     rows that are measured, where a cache would have a sample. They are stored once a head, not in rows,
                     and are not in bytes or bits/x. Names end in +offset.
  --correction WHAT  what the length that a row stores is chosen for: none (the default), norm (|x'| = |x|), inner-product
                     (<x, x'> = |x|^2) or least-squares (the least |x - x'|). Same bytes, same decoder; encoding takes
                     longer here than in the library. polarquant-block, float16 and bfloat16 store no length and stay as
                     they are. Names end in +WHAT.
  --seed N           of the codecs' rotations and of everything made up here; default 0.

Output: the table on standard output, and
  --plot FILE        D against bits as a picture, .svg or .png, drawn by gnuplot; default compare.svg. Rows above 10 bits
                     are left out of it unless there are no others.
  --no-plot          no picture.
  --csv FILE         the table, exactly. Empty fields: not measured.
  --help             this.

The columns:
  bits         the width that the codec is called by; KEY/VALUE where a scheme has two.
  bytes        stored a row of d coordinates: everything, norm and padding too. Of a scheme, here and in bits/x and the
               times, the mean of a row of keys and one of values: a token takes twice that.
  bits/x       the true rate: 8 * bytes / d. Compare codecs at equal bits/x, never at equal names.
  D            mean over rows of |x - x'|^2 / |x|^2, x' being x after encoding and decoding.
  dB           10 log10(D / 4^-bits/x): decibels above Shannon's bound for Gaussian coordinates. One number that compares
               any two coders at any two rates; lower is better, 6.02 dB are one bit a coordinate. Each side of a scheme is
               over the bound at its own rate, here and in the picture.
  cosine       mean cosine between x and x'.
  |qk error|   |<q, k> - coded score|, not divided by sqrt(d): mean and worst over all pairs of query and visible key.
  KL           divergence of the attention over coded keys from the true one, softmax(<q, k>/sqrt(d)), in nats: mean and
               worst over queries.
  top-5        recall: which part of the five keys that matter most is still among the top five.
  output       |o - o'| / |o| of the attention output, mean over queries; keys and values both coded.
  encode       nanoseconds a row of d coordinates on one thread, from and to float: the median of 15 repetitions over up
  decode       to 512 rows that stay in cache.

Exit status: 0, or 2 when an input, an option or an output is at fault; then no file is left behind half-written.
)";

}  // namespace compare
