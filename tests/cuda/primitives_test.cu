// The host's primitives in a kernel: the same codec value, passed as an argument, encodes the same bytes on the device and
// scores the same rows. One thread a row: this is about bytes, not speed. Exits 77 with a message where there is no GPU.
#include <kvcodec/kvcodec.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace kvcodec;

#define CHECK_CUDA(call)                                                                             \
  do {                                                                                               \
    const cudaError_t status = (call);                                                               \
    if (status != cudaSuccess) {                                                                     \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                           \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (false)

template <class C>
__global__ void encode_and_score(C codec, const float* x, std::size_t count, std::byte* rows, float* scores, float* decoded) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  codec.encode_row(x + i * C::dim, rows + i * C::row_bytes);
  const auto query = codec.prepare_row(x);
  scores[i] = codec.score_row(query, rows + i * C::row_bytes);
  codec.decode_row(rows + i * C::row_bytes, decoded + i * C::dim);
}

/// Gaussian rows and the hostile ones: zeros, one-hot, constant, tiny, huge, beyond the norm's range.
std::vector<float> test_rows(std::size_t count, std::size_t d) {
  SplitMix64 random(d);
  std::vector<float> x(count * d);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < d; ++k) {
      int sum = 0;
      for (int n = 0; n < 4; ++n) sum += static_cast<int>(random() >> 44);
      float v = static_cast<float>(sum - (1 << 21)) * 0x1p-19f;
      switch (i % 32) {
        case 3: v = k == d / 3 ? 2.5f : 0.0f; break;
        case 7: v = 1.0f; break;
        case 11: v *= 0x1p-120f; break;
        case 13: v *= 0x1p110f; break;
        case 17: v = -0.0f; break;
        case 19: v = FLT_MAX; break;
        case 23: v *= k % 4 == 0 ? 0x1p60f : 0x1p-60f; break;
        default: break;
      }
      x[i * d + k] = v;
    }
  }
  return x;
}

template <class C>
bool same_on_device(std::size_t count) {
  const C codec(42);
  const auto x = test_rows(count, C::dim);
  std::vector<std::byte> host(count * C::row_bytes), back(host.size());
  if (codec.encode_rows(std::span<const float>(x), Rows{host.data(), count, C::row_bytes}).status != Status::ok) return false;
  float *device_x, *device_scores, *device_decoded;
  std::byte* device_rows;
  CHECK_CUDA(cudaMalloc(&device_x, x.size() * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&device_scores, count * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&device_decoded, x.size() * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&device_rows, host.size()));
  CHECK_CUDA(cudaMemset(device_rows, 0xa5, host.size()));
  CHECK_CUDA(cudaMemcpy(device_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
  encode_and_score<<<static_cast<unsigned>((count + 63) / 64), 64>>>(codec, device_x, count, device_rows, device_scores, device_decoded);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  std::vector<float> scores(count), decoded(x.size());
  CHECK_CUDA(cudaMemcpy(back.data(), device_rows, back.size(), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(scores.data(), device_scores, count * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(decoded.data(), device_decoded, decoded.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(device_x));
  CHECK_CUDA(cudaFree(device_scores));
  CHECK_CUDA(cudaFree(device_decoded));
  CHECK_CUDA(cudaFree(device_rows));

  std::size_t differing = 0, bad_scores = 0;
  const std::span<const float, C::dim> q(x.data(), C::dim);
  const auto query = codec.prepare(q);
  const float q_length = std::sqrt(sum_of_squares<C::dim>(x.data()));
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* row = host.data() + i * C::row_bytes;
    differing += std::memcmp(row, back.data() + i * C::row_bytes, C::row_bytes) == 0 ? 0 : 1;
    std::vector<float> y(C::dim);
    codec.decode_row(row, y.data());
    double length = 0, error = 0;
    for (std::size_t k = 0; k < C::dim; ++k) {
      length += static_cast<double>(y[k]) * y[k];
      error += std::pow(static_cast<double>(y[k]) - decoded[i * C::dim + k], 2);
    }
    const double bound = 1e-5 * static_cast<double>(q_length) * std::sqrt(length) + 1e-30;
    const float score = codec.score_row(query, row);  // beyond float's range on both, or on none
    const bool good = (scores[i] == score || (!std::isfinite(scores[i]) && !std::isfinite(score)) || std::abs(static_cast<double>(scores[i]) - score) <= bound) &&
                      std::sqrt(error) <= 1e-5 * std::sqrt(length);
    bad_scores += good ? 0 : 1;
  }
  std::printf("%-16s d %4zu  %3zu bytes: %zu of %zu rows differ, %zu scores or decoded rows\n", C::name.data(), C::dim, C::row_bytes, differing,
              count, bad_scores);
  return differing == 0 && bad_scores == 0;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device here\n");
    return 77;
  }
  constexpr std::size_t count = 20'000;
  bool ok = true;
  ok &= same_on_device<TurboQuantMse<128, 2>>(count);
  ok &= same_on_device<TurboQuantMse<128, 3>>(count);
  ok &= same_on_device<TurboQuantMse<128, 4>>(count);
  ok &= same_on_device<TurboQuantMse<80, 4>>(count);
  ok &= same_on_device<TurboQuantMse<112, 8>>(count);
  ok &= same_on_device<LloydMax<64, 3>>(count);
  ok &= same_on_device<Octopus<64, 1>>(count);
  ok &= same_on_device<Octopus<128, 2>>(count);
  ok &= same_on_device<Octopus<128, 3>>(count);
  ok &= same_on_device<Octopus<128, 4>>(count);
  ok &= same_on_device<Octopus<96, 6>>(count);
  ok &= same_on_device<TurboQuantProd<128, 3>>(count);
  ok &= same_on_device<TurboQuantProd<80, 4>>(count);
  ok &= same_on_device<OctopusQjl<128, 2>>(count);
  ok &= same_on_device<OctopusQjl<128, 4, OctopusOptions{.correction = Correction::inner_product}>>(count);
  ok &= same_on_device<PolarQuant<128, 2>>(count);
  ok &= same_on_device<PolarQuant<128, 4>>(count);
  ok &= same_on_device<PolarQuant<112, 3>>(count);
  ok &= same_on_device<PolarQuantBlock<128>>(count);
  ok &= same_on_device<TurboQuantMse<128, 2, Options{.correction = Correction::least_squares}>>(count);
  ok &= same_on_device<TurboQuantSplit<128, 2>>(count);
  ok &= same_on_device<OffsetCodec<TurboQuantMse<64, 3>>>(count);
  ok &= same_on_device<Float16<128>>(count);
  return ok ? 0 : 1;
}
