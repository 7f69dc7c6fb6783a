// The laws over QJL residuals, corrections, split channels and offsets: widths at d = 128, the head sizes of the matrix, and
// the options.
#include "laws.hpp"

namespace kvcodec {
namespace {

const auto prod = kvcodec_test::sampled_codecs<TurboQuantProd<128, 2>, TurboQuantProd<128, 3>, TurboQuantProd<128, 4>, TurboQuantProd<128, 8>, TurboQuantProd<64, 2>,
                              TurboQuantProd<80, 3>, TurboQuantProd<96, 4>, TurboQuantProd<112, 2>, TurboQuantProd<576, 3>, TurboQuantProd<1024, 2>,
                              TurboQuantProd<4, 3>>();
INSTANTIATE_TEST_SUITE_P(TurboQuantProdCodecs, CodecLaws, ::testing::ValuesIn(prod));

const auto with_octopus = kvcodec_test::sampled_codecs<OctopusQjl<128, 1>, OctopusQjl<128, 2>, OctopusQjl<128, 4>, OctopusQjl<64, 6>, OctopusQjl<112, 3>>();
INSTANTIATE_TEST_SUITE_P(OctopusQjlCodecs, CodecLaws, ::testing::ValuesIn(with_octopus));

constexpr QjlOptions gaussian{.projection_rounds = 0}, values{.residual_norm = NormType::float16, .scale = QjlScale::least_squares};
constexpr Options float32{.norm = NormType::float32};
const auto variants = kvcodec_test::sampled_codecs<
    TurboQuantProd<64, 3, Options{}, gaussian>, TurboQuantProd<64, 4, float32, values>,
    TurboQuantProd<64, 3, Options{.rounds = 0}, QjlOptions{.projection_rounds = 4}>, OctopusQjl<64, 2, OctopusOptions{.rounding = Rounding::scalar}, values>,
    TurboQuantProd<64, 3, Options{.correction = Correction::inner_product}>, TurboQuantMse<128, 2, Options{.correction = Correction::norm}>,
    TurboQuantMse<80, 4, Options{.correction = Correction::inner_product}>, LloydMax<64, 2, Options{.rounds = 0, .correction = Correction::least_squares}>,
    Octopus<64, 3, OctopusOptions{.correction = Correction::inner_product}>, TurboQuantSplit<128, 2>, TurboQuantSplit<64, 3>,
    TurboQuantSplit<96, 2, 32>, SplitCodec<TurboQuantProd<32, 4>, Octopus<96, 2>>, OffsetCodec<TurboQuantMse<64, 3>>, OffsetCodec<Octopus<80, 2>>,
    OffsetCodec<TurboQuantProd<64, 3>>>();
INSTANTIATE_TEST_SUITE_P(QjlVariants, CodecLaws, ::testing::ValuesIn(variants));

static_assert(TurboQuantProd<128, 2>::row_bytes == 36 && TurboQuantProd<128, 3>::row_bytes == 52 && TurboQuantProd<128, 4>::row_bytes == 68);
static_assert(OctopusQjl<128, 2>::row_bytes == 58 && OctopusQjl<128, 3>::row_bytes == 74 && OctopusQjl<128, 4>::row_bytes == 90);
static_assert(TurboQuantSplit<128, 2>::row_bytes == 40 && TurboQuantSplit<128, 3>::row_bytes == 56);
static_assert(TurboQuantProd<128, 2>::name == "turboquant-prod" && OctopusQjl<128, 2>::name == "octopus-qjl");
static_assert(OffsetCodec<Octopus<80, 2>>::name == "octopus+offset" && OffsetCodec<Octopus<80, 2>>::row_bytes == Octopus<80, 2>::row_bytes);

}  // namespace
}  // namespace kvcodec
