// The laws over OCTOPUS: every width at d = 128, every head size of the matrix, and the options.
#include "laws.hpp"

namespace kvcodec {
namespace {

const auto widths = kvcodec_test::sampled_codecs<Octopus<128, 1>, Octopus<128, 2>, Octopus<128, 3>, Octopus<128, 4>, Octopus<128, 5>, Octopus<128, 6>>();
INSTANTIATE_TEST_SUITE_P(OctopusWidths, CodecLaws, ::testing::ValuesIn(widths));

const auto dims = kvcodec_test::sampled_codecs<Octopus<32, 3>, Octopus<64, 2>, Octopus<80, 3>, Octopus<96, 4>, Octopus<112, 2>, Octopus<160, 3>,
                                Octopus<192, 4>, Octopus<256, 2>, Octopus<320, 3>, Octopus<512, 4>, Octopus<576, 2>, Octopus<1024, 4>>();
INSTANTIATE_TEST_SUITE_P(OctopusDims, CodecLaws, ::testing::ValuesIn(dims));

const auto variants = kvcodec_test::sampled_codecs<
    Octopus<4, 2>, Octopus<12, 4>, Octopus<64, 3, OctopusOptions{.rounds = 1, .norm = NormType::float32, .rounding = Rounding::scalar}>,
    Octopus<64, 3, OctopusOptions{.rounds = 0, .norm = NormType::float16, .rounding = Rounding::joint_2x2}>,
    Octopus<80, 2, OctopusOptions{.direction_bits = 1, .length_bits = 3}>, Octopus<64, 4, OctopusOptions{.direction_bits = 4, .length_bits = 4}>,
    Octopus<64, 3, OctopusOptions{.direction_bits = 3, .length_bits = 5}>, Octopus<64, 3, OctopusOptions{.direction_bits = 2, .length_bits = 4}>>();
INSTANTIATE_TEST_SUITE_P(OctopusVariants, CodecLaws, ::testing::ValuesIn(variants));

static_assert(Octopus<128, 2>::row_bytes == 40 && Octopus<128, 3>::row_bytes == 56 && Octopus<128, 4>::row_bytes == 72);

}  // namespace
}  // namespace kvcodec
