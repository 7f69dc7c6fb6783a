// Makes and uses one codec, KVCODEC_TEST_CODEC, named on the command line.
#include <kvcodec/kvcodec.hpp>

using namespace kvcodec;

Status use(std::span<const float> x, std::span<std::byte> packed) {
  const KVCODEC_TEST_CODEC codec;
  return codec.encode_rows(x, {packed.data(), 1, codec.row_bytes}).status;
}
