// Compiles where the component eigen was asked for, whether or not the headers have an adapter for it.
#if __has_include(<kvcodec/adapt/eigen.hpp>)
#include <kvcodec/adapt/eigen.hpp>
#endif
#include <kvcodec/kvcodec.hpp>

#include <Eigen/Core>

float norm(const Eigen::VectorXf& x);
float norm(const Eigen::VectorXf& x) { return x.norm(); }
