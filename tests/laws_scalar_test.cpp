// The laws over the per-coordinate codecs and uncompressed rows: every width at d = 128, every head size of the matrix, and
// the options.
#include "laws.hpp"

namespace kvcodec {
namespace {

const auto widths = kvcodec_test::sampled_codecs<TurboQuantMse<128, 1>, TurboQuantMse<128, 2>, TurboQuantMse<128, 3>, TurboQuantMse<128, 4>,
                                TurboQuantMse<128, 5>, TurboQuantMse<128, 6>, TurboQuantMse<128, 7>, TurboQuantMse<128, 8>>();
INSTANTIATE_TEST_SUITE_P(TurboQuantWidths, CodecLaws, ::testing::ValuesIn(widths));

const auto dims = kvcodec_test::sampled_codecs<TurboQuantMse<32, 3>, TurboQuantMse<64, 2>, TurboQuantMse<80, 3>, TurboQuantMse<96, 4>, TurboQuantMse<112, 5>,
                                TurboQuantMse<160, 7>, TurboQuantMse<192, 6>, TurboQuantMse<256, 2>, TurboQuantMse<320, 3>,
                                TurboQuantMse<512, 4>, TurboQuantMse<576, 2>, TurboQuantMse<1024, 3>>();
INSTANTIATE_TEST_SUITE_P(TurboQuantDims, CodecLaws, ::testing::ValuesIn(dims));

const auto variants = kvcodec_test::sampled_codecs<
    TurboQuantMse<4, 3>, TurboQuantMse<12, 5>, TurboQuantMse<36, 3>, TurboQuantMse<64, 4, Options{.rounds = 1, .norm = NormType::float32}>,
    TurboQuantMse<64, 4, Options{.rounds = 2, .norm = NormType::float16}>, LloydMax<64, 1>, LloydMax<64, 2>, LloydMax<80, 3>, LloydMax<128, 4>,
    LloydMax<64, 8, Options{.rounds = 0, .norm = NormType::float16}>, Float16<64>, Float16<576>, BFloat16<128>, BFloat16<80>>();
INSTANTIATE_TEST_SUITE_P(ScalarVariants, CodecLaws, ::testing::ValuesIn(variants));

static_assert(TurboQuantMse<128, 2>::row_bytes == 34 && TurboQuantMse<128, 3>::row_bytes == 50 && TurboQuantMse<128, 4>::row_bytes == 66);
static_assert(TurboQuantMse<128, 4, Options{.norm = NormType::float32}>::row_bytes == 68);
static_assert(Float16<128>::row_bytes == 256 && BFloat16<128>::row_bytes == 256);
static_assert(TurboQuantMse<128, 2>::name == "turboquant-mse" && LloydMax<128, 2>::name == "lloyd-max" && Octopus<128, 2>::name == "octopus");
static_assert(std::is_same_v<TurboQuantMse<128, 2, Options{.rounds = 0}>, LloydMax<128, 2>>, "no rotation is no rotation");

}  // namespace
}  // namespace kvcodec
