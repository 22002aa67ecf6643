// Adagrad on rows of a table as one TensorFlow operation.
//
// TensorFlow's own kernel (ResourceSparseApplyAdagradV2) gives the same values, but computes one
// float at a time, which takes three times as long.
//
// quatre_tf/accelerated/kernel.py compiles and loads this file.

// TensorFlow's headers ask for it.
#define EIGEN_USE_THREADS

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "processors.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/kernels/training_op_helpers.h"
#include "tensorflow/core/util/work_sharder.h"

namespace quatre_tf {

// sums += gradient^2; row -= learning_rate * gradient / (sqrt(sums) + epsilon)
FOR_EACH_PROCESSOR void UpdateRow(float learning_rate, float epsilon,
                                  const float* __restrict gradient, int64_t width,
                                  float* __restrict sums, float* __restrict row) {
#pragma omp simd
  for (int64_t k = 0; k < width; ++k) {
    sums[k] += gradient[k] * gradient[k];
    row[k] -= learning_rate * gradient[k] / (std::sqrt(sums[k]) + epsilon);
  }
}

}  // namespace quatre_tf

namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::Var;
using tensorflow::core::RefCountPtr;

REGISTER_OP("QuatreAdagrad")
    .Input("var: resource")
    .Input("accum: resource")
    .Input("lr: float")
    .Input("epsilon: float")
    .Input("grad: float")
    .Input("indices: int32")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::NoOutputs)
    .Doc(R"doc(
Updates rows of a table and of its sums of squares in place.

var: the table, [entries, ...].
accum: the sums, of the same shape.
lr: learning rate, a scalar.
epsilon: added to the root of the sums, a scalar.
grad: [rows, ...]; the gradient of each row.
indices: [rows]; which rows, each of them once.
)doc");

class AdagradOp : public OpKernel {
 public:
  explicit AdagradOp(OpKernelConstruction* context) : OpKernel(context) {}

  void Compute(OpKernelContext* context) override {
    RefCountPtr<Var> variables[2];
    for (int i = 0; i < 2; ++i) {
      OP_REQUIRES_OK(context, LookupResource(context, HandleFromInput(context, i), &variables[i]));
      Var* variable = variables[i].get();
      OP_REQUIRES(context, variable->tensor()->dtype() == tensorflow::DT_FLOAT,
                  absl::InvalidArgumentError("table and sums must be float32"));
      // As TensorFlow's optimizers: from now on, reading the whole variable makes a copy.
      OP_REQUIRES_OK(context,
                     tensorflow::EnsureSparseVariableAccess<Eigen::ThreadPoolDevice, float>(
                         context, variable));
    }
    const tensorflow::tf_shared_lock table_lock(*variables[0]->mu());
    const tensorflow::tf_shared_lock sums_lock(*variables[1]->mu());
    Tensor &table = *variables[0]->tensor(), &sums = *variables[1]->tensor();
    const Tensor &gradient = context->input(4), &indices = context->input(5);
    OP_REQUIRES(context, table.dims() > 0 && table.shape() == sums.shape(),
                absl::InvalidArgumentError("table and sums must have the same shape, with rows"));
    auto expected = table.shape();
    expected.set_dim(0, indices.NumElements());
    OP_REQUIRES(context, indices.dims() == 1 && gradient.shape() == expected,
                absl::InvalidArgumentError("expected one row of the gradient for each index"));
    OP_REQUIRES(context, context->input(2).dims() == 0 && context->input(3).dims() == 0,
                absl::InvalidArgumentError("learning rate and epsilon must be scalars"));
    const int64_t count = indices.NumElements(), entries = table.dim_size(0);
    const int32_t* rows = indices.flat<int32_t>().data();
    OP_REQUIRES(context,
                std::all_of(rows, rows + count,
                            [entries](int32_t row) { return row >= 0 && row < entries; }),
                absl::InvalidArgumentError("indices out of bounds"));

    const int64_t width = count ? gradient.NumElements() / count : 0;
    const float learning_rate = context->input(2).scalar<float>()();
    const float epsilon = context->input(3).scalar<float>()();
    const float* of_rows = gradient.flat<float>().data();
    float *table_data = table.flat<float>().data(), *sums_data = sums.flat<float>().data();
    // Shard wants the cost of one item in cycles, about.
    const auto* workers = context->device()->tensorflow_cpu_worker_threads();
    tensorflow::Shard(workers->num_threads, workers->workers, count, 4 * width,
                      [&](int64_t first, int64_t last) {
                        for (int64_t k = first; k < last; ++k) {
                          const int64_t start = rows[k] * width;
                          quatre_tf::UpdateRow(learning_rate, epsilon, of_rows + k * width, width,
                                               sums_data + start, table_data + start);
                        }
                      });
  }
};

REGISTER_KERNEL_BUILDER(Name("QuatreAdagrad").Device(tensorflow::DEVICE_CPU), AdagradOp);

}  // namespace
