// Eigen adapter: the dense Haar rotation of the TurboQuant paper, and views between matrices and rows of values.
//
// The only header that needs Eigen; nothing else of the library has an Eigen type in it.
#pragma once

#include "../codec.hpp"

#include <Eigen/Core>
#include <Eigen/QR>

#include <memory>
#include <span>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// A Haar-distributed rotation: the orthogonal factor of a Gaussian matrix by QR, its columns' signs set so that R has a
/// positive diagonal (Mezzadri 2007). O(D^2) a vector and 4 D^2 bytes, shared by copies of a codec: the reference to
/// compare with, not a rotation to run. Its rows are reproducible on one machine and build; unlike signs + Hadamard its
/// bytes are not promised to be the same on another, since a QR's last bits are not.
template <std::size_t D>
class HaarRotation {
 public:
  static constexpr std::size_t dim = D;
  static constexpr RotationKind kind = RotationKind::haar;
  static constexpr unsigned rounds = 1;
  static constexpr float scale = 1.0f;

  explicit HaarRotation(SplitMix64& random) {
    Eigen::MatrixXd gaussian(D, D);
    for (Eigen::Index i = 0; i < gaussian.size(); ++i) gaussian.data()[i] = random.gaussian();
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(gaussian);
    Eigen::MatrixXd q = qr.householderQ();
    for (Eigen::Index k = 0; k < q.cols(); ++k)
      if (qr.matrixQR()(k, k) < 0) q.col(k) = -q.col(k);
    matrix_ = std::make_shared<const Matrix>(q.cast<float>());
  }

  void raw(float* x) const noexcept { apply(*matrix_, x); }
  void raw_inverse(float* x) const noexcept { apply(matrix_->transpose(), x); }

  const auto& matrix() const noexcept { return *matrix_; }

 private:
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>;

  template <class M>
  static void apply(const M& matrix, float* x) noexcept {
    Eigen::Map<Eigen::Matrix<float, static_cast<int>(D), 1>> vector(x);
    const Eigen::Matrix<float, static_cast<int>(D), 1> copy = vector;
    vector.noalias() = matrix * copy;
  }

  std::shared_ptr<const Matrix> matrix_;
};

/// TurboQuant as its paper has it, on a dense Haar rotation.
template <std::size_t D, unsigned B, NormType Norm = NormType::bfloat16>
using TurboQuantMseHaar = RotationCodec<LloydMaxQuantizer<D, B>, HaarRotation<D>, Norm>;

/// One vector a row, consecutive in memory: the layout that encode_rows and decode_rows take.
using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline std::span<const float> values_of(const RowMatrix& matrix) noexcept {
  return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}
inline std::span<float> values_of(RowMatrix& matrix) noexcept { return {matrix.data(), static_cast<std::size_t>(matrix.size())}; }

/// n = values.size() / dim rows as a matrix view; values.size() is a multiple of dim.
inline Eigen::Map<const RowMatrix> matrix_of(std::span<const float> values, std::size_t dim) noexcept {
  return {values.data(), static_cast<Eigen::Index>(values.size() / dim), static_cast<Eigen::Index>(dim)};
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
