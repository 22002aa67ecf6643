// The entity part of the paper's training step as one TensorFlow operation.
//
// quatre_tf/objectives/sampled_logistic.py has the same in operations of TensorFlow, and the
// formulas. There a step is bound by memory: each operation reads or writes all rows of the batch.
// Here the rows of a positive and of its negatives are read once, and used while they are in the
// cache.
//
// quatre_tf/accelerated/kernel.py compiles and loads this file.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "processors.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/util/work_sharder.h"

// Not in the unnamed namespace: compilers give the variants of a function external names.
namespace quatre_tf {

// out += factor * row
FOR_EACH_PROCESSOR void AddRow(float factor, const float* __restrict row, int64_t width,
                               float* __restrict out) {
#pragma omp simd
  for (int64_t k = 0; k < width; ++k) out[k] += factor * row[k];
}

// out = factor * row
FOR_EACH_PROCESSOR void SetRow(float factor, const float* __restrict row, int64_t width,
                               float* __restrict out) {
#pragma omp simd
  for (int64_t k = 0; k < width; ++k) out[k] = factor * row[k];
}

// *dot = <query, row>, *square = <row, row>
FOR_EACH_PROCESSOR void DotAndSquare(const float* __restrict query, const float* __restrict row,
                                     int64_t width, float* dot, float* square) {
  float d = 0, s = 0;
#pragma omp simd reduction(+ : d, s)
  for (int64_t k = 0; k < width; ++k) {
    d += query[k] * row[k];
    s += row[k] * row[k];
  }
  *dot = d;
  *square = s;
}

// out += p ⊗ q of n quaternions each, component by component: all real parts, then all i, j, k.
// A sign of -1 takes the conjugate of that factor.
FOR_EACH_PROCESSOR void AddHamilton(const float* __restrict p, float sign_p,
                                    const float* __restrict q, float sign_q, int64_t n,
                                    float* __restrict out) {
#pragma omp simd
  for (int64_t k = 0; k < n; ++k) {
    const float pr = p[k], pi = sign_p * p[n + k], pj = sign_p * p[2 * n + k],
                pk = sign_p * p[3 * n + k];
    const float qr = q[k], qi = sign_q * q[n + k], qj = sign_q * q[2 * n + k],
                qk = sign_q * q[3 * n + k];
    out[k] += pr * qr - pi * qi - pj * qj - pk * qk;
    out[n + k] += pr * qi + pi * qr + pj * qk - pk * qj;
    out[2 * n + k] += pr * qj - pi * qk + pj * qr + pk * qi;
    out[3 * n + k] += pr * qk + pi * qj - pj * qi + pk * qr;
  }
}

}  // namespace quatre_tf

namespace {

using quatre_tf::AddHamilton;
using quatre_tf::AddRow;
using quatre_tf::DotAndSquare;
using quatre_tf::SetRow;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

constexpr float kAsIs = 1.0f;
constexpr float kConjugate = -1.0f;

constexpr int kInputs = 8;
constexpr int kRanks[kInputs] = {2, 2, 1, 2, 1, 0, 0, 0};
constexpr const char* kNames[kInputs] = {"rows",           "rotations", "relation_index",
                                         "tail_corrupted", "segments",  "num_segments",
                                         "scale",          "l2"};

REGISTER_OP("QuatreSampledLogistic")
    .Input("rows: float")
    .Input("rotations: float")
    .Input("relation_index: int32")
    .Input("tail_corrupted: bool")
    .Input("segments: int32")
    .Input("num_segments: int32")
    .Input("scale: float")
    .Input("l2: float")
    .Output("loss: float")
    .Output("squares: float")
    .Output("gradient: float")
    .Output("rotation_gradients: float")
    .SetShapeFn([](InferenceContext* c) {
      ShapeHandle inputs[kInputs];
      for (int i = 0; i < kInputs; ++i) {
        TF_RETURN_IF_ERROR(c->WithRank(c->input(i), kRanks[i], &inputs[i]));
      }
      const auto width = c->Dim(inputs[0], 1), batch = c->Dim(inputs[2], 0);
      c->set_output(0, c->Scalar());
      c->set_output(1, c->Scalar());
      c->set_output(2, c->Matrix(c->UnknownDim(), width));
      c->set_output(3, c->Matrix(batch, width));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Loss of positives with their negatives, and the gradients of entity rows and rotations.

rows: [batch + batch * (1 + negatives), 4n]; the heads, then of each positive its tail and the
  entities put in.
rotations: [any, 4n]; the folded rotation of each relation.
relation_index: [batch]; the row of `rotations` of each positive.
tail_corrupted: [batch, negatives]; whether the entity put in replaces the tail.
segments: [rows]; which entity each row is of, in [0, num_segments), each of them at least once.
num_segments: how many distinct entities there are.
scale: what the sum of the logistic losses is multiplied by.
l2: weight of `squares`.
loss: the scaled sum.
squares: sum of squares of the head and tail rows of all positives and corrupted triples.
gradient: [num_segments, 4n]; of `loss` + l2 * `squares`, by the entities.
rotation_gradients: [batch, 4n]; of `loss`, by the rotation of each positive.
)doc");

class SampledLogisticOp : public OpKernel {
 public:
  explicit SampledLogisticOp(OpKernelConstruction* context) : OpKernel(context) {}

  void Compute(OpKernelContext* context) override {
    for (int i = 0; i < kInputs; ++i) {
      OP_REQUIRES(context, context->input(i).dims() == kRanks[i],
                  absl::InvalidArgumentError(
                      absl::StrCat("expected rank ", kRanks[i], " for ", kNames[i])));
    }
    const Tensor& rows = context->input(0);
    const Tensor& rotations = context->input(1);
    const Tensor& segments = context->input(4);
    Batch batch;
    batch.size = context->input(2).NumElements();
    batch.negatives = context->input(3).dim_size(1);
    batch.width = rows.dim_size(1);
    batch.num_rows = rows.dim_size(0);
    batch.num_segments = context->input(5).scalar<int32_t>()();
    batch.rows = rows.flat<float>().data();
    batch.rotations = rotations.flat<float>().data();
    batch.relation_index = context->input(2).flat<int32_t>().data();
    batch.tail_corrupted = context->input(3).flat<bool>().data();
    batch.segments = segments.flat<int32_t>().data();
    batch.scale = context->input(6).scalar<float>()();
    batch.l2 = context->input(7).scalar<float>()();

    OP_REQUIRES(context, batch.width % 4 == 0 && rotations.dim_size(1) == batch.width,
                absl::InvalidArgumentError("rows and rotations must have the same width, 4n"));
    OP_REQUIRES(context,
                context->input(3).dim_size(0) == batch.size &&
                    batch.num_rows == batch.size * (2 + batch.negatives) &&
                    segments.NumElements() == batch.num_rows,
                absl::InvalidArgumentError(
                    "expected batch * (2 + negatives) rows, and a segment for each"));
    OP_REQUIRES(context,
                batch.num_segments >= 0 && batch.num_segments <= batch.num_rows &&
                    batch.num_rows <= std::numeric_limits<int32_t>::max(),
                absl::InvalidArgumentError(
                    "num_segments must be from 0 to the number of rows, which is an int32"));
    OP_REQUIRES(context,
                Within(batch.relation_index, batch.size, rotations.dim_size(0)) &&
                    Within(batch.segments, batch.num_rows, batch.num_segments),
                absl::InvalidArgumentError("relation_index or segments out of bounds"));
    const Occurrences occurrences = OccurrencesOf(batch);
    OP_REQUIRES(context, occurrences.each_segment_occurs,
                absl::InvalidArgumentError("each segment must have a row"));

    Tensor *loss, *squares, *gradient, *rotation_gradients;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &loss));
    OP_REQUIRES_OK(context, context->allocate_output(1, TensorShape({}), &squares));
    OP_REQUIRES_OK(context, context->allocate_output(
                                2, TensorShape({batch.num_segments, batch.width}), &gradient));
    OP_REQUIRES_OK(context, context->allocate_output(3, TensorShape({batch.size, batch.width}),
                                                     &rotation_gradients));
    Tensor sources;
    OP_REQUIRES_OK(context,
                   context->allocate_temp(tensorflow::DT_FLOAT,
                                          TensorShape({4 * batch.size, batch.width}), &sources));
    Terms terms(batch);
    terms.sources = sources.flat<float>().data();
    terms.rotation_gradients = rotation_gradients->flat<float>().data();

    // Shard wants the cost of one item in cycles, about.
    const auto* workers = context->device()->tensorflow_cpu_worker_threads();
    tensorflow::Shard(workers->num_threads, workers->workers, batch.size,
                      (1 + batch.negatives) * batch.width,
                      [&](int64_t first, int64_t last) { Score(batch, first, last, &terms); });
    float* out = gradient->flat<float>().data();
    tensorflow::Shard(
        workers->num_threads, workers->workers, batch.num_segments, 2 * batch.width,
        [&](int64_t first, int64_t last) { AddUp(batch, occurrences, terms, first, last, out); });

    // One after the other, so that the sums do not depend on threads.
    double loss_sum = 0, squares_sum = 0;
    for (int64_t b = 0; b < batch.size; ++b) {
      loss_sum += terms.losses[b];
      squares_sum += terms.squares[b];
    }
    loss->scalar<float>()() = static_cast<float>(batch.scale * loss_sum);
    squares->scalar<float>()() = static_cast<float>(squares_sum);
  }

 private:
  struct Batch {
    int64_t size, negatives, width, num_rows, num_segments;
    const float *rows, *rotations;
    const int32_t *relation_index, *segments;
    const bool* tail_corrupted;
    float scale, l2;

    int64_t candidates() const { return 1 + negatives; }
    const float* head(int64_t b) const { return rows + b * width; }
    const float* candidate(int64_t b, int64_t c) const {
      return rows + (size + b * candidates() + c) * width;
    }
    // Candidate 0 is the true tail.
    bool asks_tail(int64_t b, int64_t c) const {
      return c == 0 || tail_corrupted[b * negatives + c - 1];
    }
  };

  // The rows of each segment, in the order of the batch.
  struct Occurrences {
    std::vector<int32_t> starts, rows;
    bool each_segment_occurs;
  };

  // What the scores leave for the gradients.
  struct Terms {
    explicit Terms(const Batch& batch)
        : losses(batch.size),
          squares(batch.size),
          score_gradients(batch.size * batch.candidates()),
          multiplicities(batch.num_rows, 1.0f) {}

    // [4 * batch, 4n]: tail queries, head queries, head gradients, tail gradients.
    float* sources;
    float* rotation_gradients;
    std::vector<float> losses, squares;
    std::vector<float> score_gradients;  // [batch, candidates]
    std::vector<float> multiplicities;   // Of each row: how many triples of the batch it is in.
  };

  static bool Within(const int32_t* values, int64_t count, int64_t bound) {
    return std::all_of(values, values + count,
                       [bound](int32_t value) { return value >= 0 && value < bound; });
  }

  static Occurrences OccurrencesOf(const Batch& batch) {
    Occurrences found;
    found.starts.resize(batch.num_segments + 1);
    found.rows.resize(batch.num_rows);
    for (int64_t k = 0; k < batch.num_rows; ++k) ++found.starts[batch.segments[k] + 1];
    found.each_segment_occurs = std::all_of(found.starts.begin() + 1, found.starts.end(),
                                            [](int32_t count) { return count > 0; });
    for (int64_t s = 0; s < batch.num_segments; ++s) found.starts[s + 1] += found.starts[s];
    std::vector<int32_t> next(found.starts.begin(), found.starts.end() - 1);
    for (int64_t k = 0; k < batch.num_rows; ++k) found.rows[next[batch.segments[k]]++] = k;
    return found;
  }

  // Positives [first, last): their scores, and all that follows from them alone.
  static void Score(const Batch& batch, int64_t first, int64_t last, Terms* terms) {
    const int64_t width = batch.width, n = width / 4;
    // Gradients of the tail query and of the head query.
    std::vector<float> tail_side(width), head_side(width);
    for (int64_t b = first; b < last; ++b) {
      const float *head = batch.head(b), *tail = batch.candidate(b, 0);
      const float* rotation = batch.rotations + batch.relation_index[b] * width;
      float* source[4];
      for (int part = 0; part < 4; ++part) {
        source[part] = terms->sources + (part * batch.size + b) * width;
        std::fill_n(source[part], width, 0.0f);
      }
      float* rotation_gradient = terms->rotation_gradients + b * width;
      std::fill_n(rotation_gradient, width, 0.0f);
      std::fill(tail_side.begin(), tail_side.end(), 0.0f);
      std::fill(head_side.begin(), head_side.end(), 0.0f);

      AddHamilton(head, kAsIs, rotation, kAsIs, n, source[0]);
      AddHamilton(tail, kAsIs, rotation, kConjugate, n, source[1]);
      float loss = 0, squares = 0, heads_again = 0, tail_square = 0, head_square, score;
      for (int64_t c = 0; c < batch.candidates(); ++c) {
        const float* row = batch.candidate(b, c);
        const bool asks_tail = batch.asks_tail(b, c);
        float square;
        DotAndSquare(asks_tail ? source[0] : source[1], row, width, &score, &square);
        if (c == 0) {
          tail_square = square;
        } else {
          squares += square;
          heads_again += asks_tail;
        }
        const float label = c == 0 ? 1.0f : -1.0f;
        float gradient;
        loss += Logistic(score, label, &gradient);
        gradient *= batch.scale;
        terms->score_gradients[b * batch.candidates() + c] = gradient;
        AddRow(gradient, row, width, asks_tail ? tail_side.data() : head_side.data());
      }
      DotAndSquare(head, head, width, &score, &head_square);
      // The head is in the positive and in each triple whose tail was corrupted.
      const float heads = 1 + heads_again, tails = 1 + batch.negatives - heads_again;
      terms->multiplicities[b] = heads;
      terms->multiplicities[batch.size + b * batch.candidates()] = tails;
      terms->squares[b] = squares + heads * head_square + tails * tail_square;
      terms->losses[b] = loss;

      AddHamilton(tail_side.data(), kAsIs, rotation, kConjugate, n, source[2]);
      AddHamilton(head_side.data(), kAsIs, rotation, kAsIs, n, source[3]);
      AddHamilton(head, kConjugate, tail_side.data(), kAsIs, n, rotation_gradient);
      AddHamilton(head_side.data(), kConjugate, tail, kAsIs, n, rotation_gradient);
    }
  }

  // softplus(-label * score), and its derivative by the score.
  static float Logistic(float score, float label, float* gradient) {
    const float x = -label * score;
    const float small = std::exp(-std::fabs(x));
    *gradient = -label * (x >= 0 ? 1 / (1 + small) : small / (1 + small));
    return std::max(x, 0.0f) + std::log1p(small);
  }

  // The gradients of entities [first, last), from all rows that are theirs.
  static void AddUp(const Batch& batch, const Occurrences& occurrences, const Terms& terms,
                    int64_t first, int64_t last, float* out) {
    const int64_t width = batch.width;
    for (int64_t s = first; s < last; ++s) {
      const int32_t* begin = occurrences.rows.data() + occurrences.starts[s];
      const int32_t* end = occurrences.rows.data() + occurrences.starts[s + 1];
      float* gradient = out + s * width;
      float multiplicity = 0;
      for (const int32_t* k = begin; k != end; ++k) multiplicity += terms.multiplicities[*k];
      // Rows of one entity are equal.
      SetRow(2 * batch.l2 * multiplicity, batch.rows + *begin * width, width, gradient);
      for (const int32_t* k = begin; k != end; ++k) {
        if (*k < batch.size) {
          AddRow(1, terms.sources + (2 * batch.size + *k) * width, width, gradient);
          continue;
        }
        const int64_t pair = *k - batch.size;
        const int64_t b = pair / batch.candidates(), c = pair % batch.candidates();
        const int64_t query = batch.asks_tail(b, c) ? b : batch.size + b;
        AddRow(terms.score_gradients[pair], terms.sources + query * width, width, gradient);
        if (c == 0) AddRow(1, terms.sources + (3 * batch.size + b) * width, width, gradient);
      }
    }
  }
};

REGISTER_KERNEL_BUILDER(Name("QuatreSampledLogistic").Device(tensorflow::DEVICE_CPU),
                        SampledLogisticOp);

}  // namespace
