// The laws over PolarQuant: widths at d = 128, the head sizes of the matrix (those that are not powers of two have
// blocks of unequal size), and the block design with its options.
#include "laws.hpp"

namespace kvcodec {
namespace {

const auto one_radius = kvcodec_test::sampled_codecs<PolarQuant<128, 1>, PolarQuant<128, 2>, PolarQuant<128, 4>, PolarQuant<128, 6>, PolarQuant<4, 3>, PolarQuant<64, 3>,
                                   PolarQuant<80, 3>, PolarQuant<96, 5>, PolarQuant<112, 2>, PolarQuant<576, 4>, PolarQuant<1024, 3>,
                                   PolarQuant<64, 3, Options{.rounds = 0, .norm = NormType::float16, .correction = Correction::least_squares}>>();
INSTANTIATE_TEST_SUITE_P(PolarQuantCodecs, CodecLaws, ::testing::ValuesIn(one_radius));

constexpr Options inside{.norm = NormType::none};
const auto blocks = kvcodec_test::sampled_codecs<PolarQuantBlock<128>, PolarQuantBlock<8>, PolarQuantBlock<72>, PolarQuantBlock<112>,
                                PolarQuantBlock<64, Options{.rounds = 0, .norm = NormType::none}>,
                                PolarQuantBlock<128, inside, polar_levels(5, 3, 3, 3)>,
                                PolarQuantBlock<128, inside, polar_levels(3, 2), NormType::bfloat16>>();
INSTANTIATE_TEST_SUITE_P(PolarQuantBlocks, CodecLaws, ::testing::ValuesIn(blocks));

static_assert(PolarQuant<128, 2>::row_bytes == 34 && PolarQuant<128, 3>::row_bytes == 50 && PolarQuant<128, 4>::row_bytes == 66);
static_assert(PolarQuantBlock<128>::row_bytes == 62 && PolarQuantBlock<128>::bits_per_coordinate == 3.875);
static_assert(PolarQuant<128, 2>::name == "polarquant" && PolarQuantBlock<128>::name == "polarquant-block");

}  // namespace
}  // namespace kvcodec
