// Prints every figure of the oracle beside the published one; exit 1 when any is off by more than 1 % beyond the
// rounding of the published figure and the sampling error of ours, or when an invariant fails.
#include "figures.hpp"
#include "attention.hpp"
#include "half.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

using namespace kvcodec_oracle;

bool report(const char* section, const Figures& figures) {
    bool good = true;
    std::printf("\n%s\n%-44s %11s %11s %9s\n", section, "", "measured", "expected", "relative");
    for (const Figure& f : figures) {
        const char* verdict = "";
        if (!f.ok())
            verdict = f.disputed ? "disputed" : "FAIL";
        else if (f.relative_difference() > 0.01)
            verdict = "within rounding and sampling";
        std::printf("%-44s %11.6f %11.6f %8.3f%% %s\n", f.name.c_str(), f.measured, f.expected,
                    100 * (f.measured / f.expected - 1), verdict);
        good = good && (f.ok() || f.disputed);
    }
    return good;
}

// Every sixteen-bit pattern survives expanding and rounding; the largest finite value and its midpoint are known.
bool half_is_sound() {
    bool good = true;
    for (unsigned pattern = 0; pattern < 65536; ++pattern) {
        const auto bits = static_cast<std::uint16_t>(pattern);
        const double h = float16_value(bits), b = bfloat16_value(bits);
        good = good && (std::isnan(h) || float16_bits(h) == bits) && (std::isnan(b) || bfloat16_bits(b) == bits);
        // binary32 shares bfloat16's range, so the language's own conversion must not change an expanded value.
        good = good && (std::isnan(b) || static_cast<double>(static_cast<float>(b)) == b);
    }
    good = good && round_to_float16(65519.996) == 65504 && std::isinf(round_to_float16(65520));
    good = good && float16_bits(1) == 0x3c00 && bfloat16_bits(1) == 0x3f80 && float16_bits(0x1p-24) == 1;
    good = good && float16_bits(0x1p-25) == 0 && float16_bits(0x1.8p-24) == 2 && float16_bits(-0.0) == 0x8000;
    good = good && bfloat16_bits(1 + 0x1p-8) == 0x3f80 && bfloat16_bits(1 + 0x3p-8) == 0x3f82;
    return good;
}

// Equal keys weigh equally; a dominant key takes everything; KL of a distribution with itself is 0.
bool attention_is_sound() {
    const std::vector<double> keys{1, 0, 1, 0, 1, 0, 1, 0}, values{1, 2, 3, 4, 5, 6, 7, 8}, query{3, 5};
    const Attention flat = softmax_attention(keys, values, query, 0.5);
    bool good = std::abs(flat.output[0] - 4) < 1e-15 * 8 && std::abs(flat.output[1] - 5) < 1e-15 * 8;
    const Attention sharp = attend(std::vector<double>{0, 2000, 0, 0}, values, 2, 1);
    good = good && sharp.output[0] == 3 && sharp.output[1] == 4;
    good = good && kl_divergence(flat.log_weights, flat.log_weights) == 0;
    good = good && std::abs(kl_divergence(flat.log_weights, sharp.log_weights) - (1500 - std::log(4.0))) < 1e-9;
    good = good && top_k_recall(std::vector<double>{5, 4, 3, 2, 1}, std::vector<double>{5, 1, 4, 3, 2}, 2) == 0.5;
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
    const std::vector<std::vector<double>> keys = gaussian_keys(count, 128, 20240229);
    bool good = report("codebooks", codebook_figures());
    good = report("quality, d 128", quality_figures(keys)) && good;
    good = report("rounding, d 128", rounding_figures(keys)) && good;
    good = report("split of the bits, d 128", split_figures(keys)) && good;
    good = report("polar, d 128", polar_figures(keys)) && good;
    good = report("polar, unequal blocks", polar_tree_figures(1000, 20240302)) && good;
    good = report("qjl, d 128", qjl_figures(std::span(keys).first(std::min(count, std::size_t{4000})), 7)) && good;
    good = report("structured inputs, d 128", structured_figures(3000, 20240301)) && good;

    std::printf("\nsearches that attain less than the search over all directions\n");
    for (unsigned bits = 1; bits <= 6; ++bits) {
        for (const TripletRounding rounding : {TripletRounding::two_by_two, TripletRounding::three_by_three}) {
            const SearchGap gap = search_gap(bits, rounding, 3000, bits);
            std::printf("%s, bits %u: %zu of %zu, by at most %.3g\n",
                        rounding == TripletRounding::two_by_two ? "bracket 2x2" : "3x3", bits, gap.worse, gap.triplets,
                        gap.largest);
            good = good && gap.worse == 0;
        }
    }

    for (const std::string& name : broken_invariants()) {
        std::printf("broken: %s\n", name.c_str());
        good = false;
    }
    if (!half_is_sound()) {
        std::printf("broken: half precision\n");
        good = false;
    }
    if (!attention_is_sound()) {
        std::printf("broken: attention\n");
        good = false;
    }
    std::printf("\n%s\n", good ? "all within tolerance" : "FAILED");
    return good ? 0 : 1;
}
