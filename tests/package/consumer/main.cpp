// A user's program: the run-time choice, every row function, the descriptor, and the concepts.
#include <kvcodec/kvcodec.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

static_assert(kvcodec::KeyCodec<kvcodec::TurboQuantMse<64, 4>> && kvcodec::ValueCodec<kvcodec::TurboQuantMse<64, 4>>);

int main() {
  std::vector<float> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i));
  double worst = 0;
  const auto use = [&](const auto& codec) {
    using C = std::remove_cvref_t<decltype(codec)>;
    std::array<std::byte, C::row_bytes> row;
    std::array<float, C::dim> back, mean;
    if constexpr (C::dim == 64) {
      if (codec.encode(std::span<const float, 64>(x), row) != kvcodec::Status::ok) {
        worst = 1e9;
        return;
      }
      codec.decode(row, back);
      typename C::Accumulator sum;
      codec.accumulate(1.0f, row, sum);
      codec.finish(sum, mean);
      double square = 0, error = 0;
      for (std::size_t i = 0; i < 64; ++i) {
        square += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        error += std::pow(static_cast<double>(back[i]) - static_cast<double>(x[i]), 2);
        if (std::fabs(back[i] - mean[i]) > 1e-4f) worst = 1e9;
      }
      worst = std::fmax(worst, error / square);
      if (!kvcodec::refuse_unless_same(kvcodec::to_bytes(codec.descriptor()), codec).empty()) worst = 1e9;
    }
  };
  for (const char* name : {"octopus", "turboquant-mse"}) {
    const auto done = kvcodec::with_codec<kvcodec::Dims<64>>(name, 64, 4, 1, use);
    if (!done.ok()) {
      std::printf("%s\n", done.message().c_str());
      return 1;
    }
  }
  std::printf("kvcodec %d.%d.%d: worst relative squared error %.4f\n", kvcodec::version[0], kvcodec::version[1],
              kvcodec::version[2], worst);
  return worst > 0 && worst < 0.05 ? 0 : 1;
}
