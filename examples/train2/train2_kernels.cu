// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of train2. Simple on purpose (no tuning, one idea each) and right enough that the loss is a number; their
 * names follow the libraries whose work they stand for. Tiles are 64 wide, heads have 64 dimensions.
 */
#include "train2_kernels.h"

#include <math.h>
#include <mma.h>
#include <type_traits>

using bf16 = __nv_bfloat16;
#define HEAD_DIM 64

static __device__ float f32(bf16 x)
{
	return __bfloat162float(x);
}

// --- GEMM: four warps a block, each a 16-row strip of a 64x64 tile of the result.

template <typename LayoutA, typename LayoutB>
static __device__ void gemm_tile(const bf16 *a, const bf16 *b, bf16 *c, int m, int n, int k)
{
	using namespace nvcuda::wmma;
	__shared__ float stage[4][16 * 16];
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	const int row = blockIdx.y * 64 + warp * 16, col = blockIdx.x * 64;
	const bool a_rows = std::is_same<LayoutA, row_major>::value;
	const bool b_rows = std::is_same<LayoutB, row_major>::value;
	fragment<accumulator, 16, 16, 16, float> acc[4];
	fragment<matrix_a, 16, 16, 16, bf16, LayoutA> fa;
	fragment<matrix_b, 16, 16, 16, bf16, LayoutB> fb;

	for (int j = 0; j < 4; j++)
		fill_fragment(acc[j], 0.f);
	for (int kk = 0; kk < k; kk += 16) {
		load_matrix_sync(fa, a_rows ? a + (size_t)row * k + kk : a + (size_t)kk * m + row,
				 a_rows ? k : m);
		for (int j = 0; j < 4; j++) {
			const int cj = col + j * 16;

			load_matrix_sync(fb,
					 b_rows ? b + (size_t)kk * n + cj : b + (size_t)cj * k + kk,
					 b_rows ? n : k);
			mma_sync(acc[j], fa, fb, acc[j]);
		}
	}
	for (int j = 0; j < 4; j++) {
		store_matrix_sync(stage[warp], acc[j], 16, mem_row_major);
		__syncwarp();
		for (int i = lane; i < 256; i += 32)
			c[(size_t)(row + i / 16) * n + col + j * 16 + i % 16] =
				__float2bfloat16(stage[warp][i]);
		__syncwarp();
	}
}

extern "C" __global__ void __launch_bounds__(128)
	ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn(const bf16 *a, const bf16 *b,
								  bf16 *c, int m, int n, int k)
{
	gemm_tile<nvcuda::wmma::row_major, nvcuda::wmma::col_major>(a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(128)
	cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_32x6_nt_align8(const bf16 *a, const bf16 *b,
								      bf16 *c, int m, int n, int k)
{
	gemm_tile<nvcuda::wmma::col_major, nvcuda::wmma::row_major>(a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(128)
	ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_nn(const bf16 *a, const bf16 *b,
								  bf16 *c, int m, int n, int k)
{
	gemm_tile<nvcuda::wmma::row_major, nvcuda::wmma::row_major>(a, b, c, m, n, k);
}

void launch_gemm(cudaStream_t s, const bf16 *a, const bf16 *b, bf16 *c, int m, int n, int k)
{
	ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn<<<dim3(n / 64, m / 64), 128, 0,
								    s>>>(a, b, c, m, n, k);
}

void launch_gemm_dgrad(cudaStream_t s, const bf16 *a, const bf16 *b, bf16 *c, int m, int n, int k)
{
	ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_nn<<<dim3(n / 64, m / 64), 128, 0,
								    s>>>(a, b, c, m, n, k);
}

void launch_gemm_wgrad(cudaStream_t s, const bf16 *a, const bf16 *b, bf16 *c, int m, int n, int k)
{
	cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_32x6_nt_align8<<<dim3(n / 64, m / 64), 128,
									0, s>>>(a, b, c, m, n, k);
}

// --- Attention: one block per 64 rows of one head, one thread per row, the other side passes through shared memory.

namespace flash
{
// Row r of part (0 q, 1 k, 2 v) of head h.
static __device__ const bf16 *part(const bf16 *qkv, size_t row, int hidden, int which, int head)
{
	return qkv + (row * 3 + which) * hidden + head * HEAD_DIM;
}

static __device__ float dot(const float *a, const float *b)
{
	float sum = 0.f;

#pragma unroll
	for (int d = 0; d < HEAD_DIM; d++)
		sum += a[d] * b[d];
	return sum;
}

static __device__ void load(float *to, const bf16 *from)
{
#pragma unroll
	for (int d = 0; d < HEAD_DIM; d++)
		to[d] = f32(from[d]);
}

template <int HeadDim, bool Causal>
__global__ void __launch_bounds__(64)
	flash_fwd_kernel(const bf16 *qkv, bf16 *out, float *lse, int seq, int hidden)
{
	__shared__ float k[64][HeadDim], v[64][HeadDim];
	const int head = blockIdx.y, mine = blockIdx.x * 64 + threadIdx.x, first = blockIdx.z * seq;
	float q[HeadDim], o[HeadDim] = {}, top = -INFINITY, sum = 0.f;

	load(q, part(qkv, first + mine, hidden, 0, head));
	for (int tile = 0; tile < seq && (!Causal || tile <= (int)blockIdx.x * 64); tile += 64) {
		__syncthreads();
		load(k[threadIdx.x], part(qkv, first + tile + threadIdx.x, hidden, 1, head));
		load(v[threadIdx.x], part(qkv, first + tile + threadIdx.x, hidden, 2, head));
		__syncthreads();
		for (int j = 0; j < 64 && (!Causal || tile + j <= mine); j++) {
			const float score = dot(q, k[j]) * 0.125f, new_top = fmaxf(top, score);
			const float keep = expf(top - new_top), p = expf(score - new_top);

			sum = sum * keep + p;
			for (int d = 0; d < HeadDim; d++)
				o[d] = o[d] * keep + p * v[j][d];
			top = new_top;
		}
	}
	for (int d = 0; d < HeadDim; d++)
		out[(size_t)(first + mine) * hidden + head * HeadDim + d] =
			__float2bfloat16(o[d] / sum);
	lse[(size_t)(first + mine) * gridDim.y + head] = top + logf(sum);
}

// delta = sum over the head of dout * out, which the softmax's gradient subtracts.
template <int HeadDim>
__global__ void __launch_bounds__(64)
	flash_bwd_dot_do_o_kernel(const bf16 *out, const bf16 *dout, float *delta, int hidden)
{
	const size_t row = (size_t)blockIdx.x * 64 + threadIdx.x;
	const bf16 *a = out + row * hidden + blockIdx.y * HeadDim,
		   *b = dout + row * hidden + blockIdx.y * HeadDim;
	float sum = 0.f;

	for (int d = 0; d < HeadDim; d++)
		sum += f32(a[d]) * f32(b[d]);
	delta[row * gridDim.y + blockIdx.y] = sum;
}

// First as a query row (its dq over all keys), then as a key row (its dk and dv over all queries).
template <int HeadDim, bool Causal>
__global__ void __launch_bounds__(64)
	flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel(const bf16 *qkv, const bf16 *dout,
						     const float *lse, const float *delta,
						     bf16 *dqkv, int seq, int hidden)
{
	const int head = blockIdx.y, heads = gridDim.y, first = blockIdx.z * seq;
	const int mine = blockIdx.x * 64 + threadIdx.x;
	const size_t row = first + mine;
	float a[HeadDim], b[HeadDim], x[HeadDim], y[HeadDim], acc[HeadDim] = {},
							      acc_v[HeadDim] = {};

	load(a, part(qkv, row, hidden, 0, head));
	load(b, dout + row * hidden + head * HeadDim);
	for (int j = 0; j < (Causal ? mine + 1 : seq); j++) {
		load(x, part(qkv, first + j, hidden, 1, head));
		load(y, part(qkv, first + j, hidden, 2, head));
		const float p = expf(dot(a, x) * 0.125f - lse[row * heads + head]);
		const float ds = p * (dot(b, y) - delta[row * heads + head]) * 0.125f;

		for (int d = 0; d < HeadDim; d++)
			acc[d] += ds * x[d];
	}
	for (int d = 0; d < HeadDim; d++)
		dqkv[row * 3 * hidden + head * HeadDim + d] = __float2bfloat16(acc[d]),
							 acc[d] = 0.f;

	load(a, part(qkv, row, hidden, 1, head));
	load(b, part(qkv, row, hidden, 2, head));
	for (int i = Causal ? mine : 0; i < seq; i++) {
		const size_t other = first + i;

		load(x, part(qkv, other, hidden, 0, head));
		load(y, dout + other * hidden + head * HeadDim);
		const float p = expf(dot(a, x) * 0.125f - lse[other * heads + head]);
		const float ds = p * (dot(b, y) - delta[other * heads + head]) * 0.125f;

		for (int d = 0; d < HeadDim; d++)
			acc[d] += ds * x[d], acc_v[d] += p * y[d];
	}
	for (int d = 0; d < HeadDim; d++) {
		dqkv[(row * 3 + 1) * hidden + head * HeadDim + d] = __float2bfloat16(acc[d]);
		dqkv[(row * 3 + 2) * hidden + head * HeadDim + d] = __float2bfloat16(acc_v[d]);
	}
}
} // namespace flash

void launch_attention(cudaStream_t s, const bf16 *qkv, bf16 *out, float *lse,
		      const struct shape *sh)
{
	const dim3 grid(sh->seq / 64, sh->hidden / HEAD_DIM, sh->batch);

	flash::flash_fwd_kernel<HEAD_DIM, true>
		<<<grid, 64, 0, s>>>(qkv, out, lse, sh->seq, sh->hidden);
}

void launch_attention_bwd(cudaStream_t s, const bf16 *qkv, const bf16 *out, const bf16 *dout,
			  const float *lse, float *delta, bf16 *dqkv, const struct shape *sh)
{
	const int heads = sh->hidden / HEAD_DIM, rows = sh->batch * sh->seq;
	const dim3 grid(sh->seq / 64, heads, sh->batch);

	flash::flash_bwd_dot_do_o_kernel<HEAD_DIM>
		<<<dim3(rows / 64, heads), 64, 0, s>>>(out, dout, delta, sh->hidden);
	flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<HEAD_DIM, true>
		<<<grid, 64, 0, s>>>(qkv, dout, lse, delta, dqkv, sh->seq, sh->hidden);
}

// --- Row-wise and element-wise work.

// Sum over a block of 256 threads, the same value in each.
static __device__ float block_sum(float x)
{
	__shared__ float part[8];

	for (int d = 16; d; d /= 2)
		x += __shfl_xor_sync(~0u, x, d);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = x;
	__syncthreads();
	x = 0.f;
	for (int i = 0; i < 8; i++)
		x += part[i];
	return x;
}

static __device__ void row_moments(const bf16 *x, int hidden, float *ret_mean, float *ret_rstd)
{
	float sum = 0.f, square = 0.f;

	for (int i = threadIdx.x; i < hidden; i += 256)
		sum += f32(x[i]), square += f32(x[i]) * f32(x[i]);
	sum = block_sum(sum) / hidden;
	square = block_sum(square) / hidden;
	*ret_mean = sum;
	*ret_rstd = rsqrtf(fmaxf(square - sum * sum, 0.f) + 1e-5f);
}

namespace at
{
namespace native
{
struct GeluCUDAKernelImpl {
	__device__ static float apply(float x, float)
	{
		return 0.5f * x * (1.f + erff(x * 0.70710678f));
	}
};
struct GeluBackwardCUDAKernelImpl {
	__device__ static float apply(float x, float dy)
	{
		return dy * (0.5f * (1.f + erff(x * 0.70710678f)) +
			     x * 0.39894228f * expf(-0.5f * x * x));
	}
};
struct FillFunctor {
};
struct AdamFunctor {
	float lr, beta1, beta2, eps, decay;
};

template <typename T>
__global__ void __launch_bounds__(256) vectorized_layer_norm_kernel(const T *x, T *y, int hidden)
{
	const T *row = x + (size_t)blockIdx.x * hidden;
	float mean, rstd;

	row_moments(row, hidden, &mean, &rstd);
	for (int i = threadIdx.x; i < hidden; i += 256)
		y[(size_t)blockIdx.x * hidden + i] = __float2bfloat16((f32(row[i]) - mean) * rstd);
}

template <typename T>
__global__ void __launch_bounds__(256)
	layer_norm_grad_input_kernel(const T *x, const T *dy, T *dx, int hidden)
{
	const size_t at = (size_t)blockIdx.x * hidden;
	float mean, rstd, sum = 0.f, along = 0.f;

	row_moments(x + at, hidden, &mean, &rstd);
	for (int i = threadIdx.x; i < hidden; i += 256)
		sum += f32(dy[at + i]), along += f32(dy[at + i]) * (f32(x[at + i]) - mean) * rstd;
	sum = block_sum(sum) / hidden;
	along = block_sum(along) / hidden;
	for (int i = threadIdx.x; i < hidden; i += 256)
		dx[at + i] = __float2bfloat16(
			rstd * (f32(dy[at + i]) - sum - (f32(x[at + i]) - mean) * rstd * along));
}

template <int Vec, typename Op>
__global__ void __launch_bounds__(256)
	vectorized_elementwise_kernel(size_t n, const bf16 *x, const bf16 *dy, bf16 *y)
{
	size_t i = ((size_t)blockIdx.x * 256 + threadIdx.x) * Vec;

	for (size_t end = min(i + Vec, n); i < end; i++)
		y[i] = __float2bfloat16(Op::apply(f32(x[i]), dy ? f32(dy[i]) : 0.f));
}

// A hash of the index, so that each run starts from the same weights.
template <int Vec, typename Op>
__global__ void __launch_bounds__(256)
	vectorized_elementwise_kernel_fill(size_t n, bf16 *x, float scale, unsigned seed)
{
	size_t i = ((size_t)blockIdx.x * 256 + threadIdx.x) * Vec;

	for (size_t end = min(i + Vec, n); i < end; i++) {
		unsigned h = (unsigned)i * 2654435761u + seed;

		h = (h ^ h >> 15) * 2246822519u;
		h = (h ^ h >> 13) * 3266489917u;
		x[i] = __float2bfloat16(scale * ((h >> 8) * (2.f / 16777216.f) - 1.f));
	}
}

template <int Vec, typename Op>
__global__ void __launch_bounds__(256) unrolled_elementwise_kernel(size_t n, float *x, float value)
{
	size_t i = ((size_t)blockIdx.x * 256 + threadIdx.x) * Vec;

	for (size_t end = min(i + Vec, n); i < end; i++)
		x[i] = value;
}

template <int Vec>
__global__ void __launch_bounds__(256) float16_copy_kernel(size_t n, const bf16 *x, float *y)
{
	size_t i = ((size_t)blockIdx.x * 256 + threadIdx.x) * Vec;

	for (size_t end = min(i + Vec, n); i < end; i++)
		y[i] = f32(x[i]);
}

template <int Vec, typename Op>
__global__ void __launch_bounds__(256)
	multi_tensor_apply_kernel(const bf16 *grad, float *master, float *m, float *v, bf16 *param,
				  size_t n, float scale, float fix1, float fix2, Op op)
{
	size_t i = ((size_t)blockIdx.x * 256 + threadIdx.x) * Vec;

	for (size_t end = min(i + Vec, n); i < end; i++) {
		const float g = f32(grad[i]) * scale;

		m[i] = op.beta1 * m[i] + (1.f - op.beta1) * g;
		v[i] = op.beta2 * v[i] + (1.f - op.beta2) * g * g;
		master[i] -= op.lr *
			     (m[i] * fix1 / (sqrtf(v[i] * fix2) + op.eps) + op.decay * master[i]);
		param[i] = __float2bfloat16(master[i]);
	}
}

template <typename T>
__global__ void __launch_bounds__(256)
	cunn_SoftMaxForward_nll_loss(const T *x, const int *label, float *loss, T *dx, int rows,
				     int hidden)
{
	const size_t at = (size_t)blockIdx.x * hidden;
	const int want = label[blockIdx.x] % hidden;
	float sum = 0.f;

	// Inputs are normalised rows: exp cannot overflow, so no maximum is subtracted.
	for (int i = threadIdx.x; i < hidden; i += 256)
		sum += expf(fminf(f32(x[at + i]), 60.f));
	sum = block_sum(sum);
	for (int i = threadIdx.x; i < hidden; i += 256) {
		const float p = expf(fminf(f32(x[at + i]), 60.f)) / sum;

		dx[at + i] = __float2bfloat16((p - (i == want)) / rows);
		if (i == want)
			atomicAdd(loss, -logf(p) / rows);
	}
}
} // namespace native
} // namespace at

static unsigned blocks(size_t n)
{
	return (unsigned)((n + 1023) / 1024);
}

void launch_layer_norm(cudaStream_t s, const bf16 *x, bf16 *y, int rows, int hidden)
{
	at::native::vectorized_layer_norm_kernel<bf16><<<rows, 256, 0, s>>>(x, y, hidden);
}

void launch_layer_norm_bwd(cudaStream_t s, const bf16 *x, const bf16 *dy, bf16 *dx, int rows,
			   int hidden)
{
	at::native::layer_norm_grad_input_kernel<bf16><<<rows, 256, 0, s>>>(x, dy, dx, hidden);
}

void launch_gelu(cudaStream_t s, const bf16 *x, bf16 *y, size_t n)
{
	at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>
		<<<blocks(n), 256, 0, s>>>(n, x, nullptr, y);
}

void launch_gelu_bwd(cudaStream_t s, const bf16 *x, const bf16 *dy, bf16 *dx, size_t n)
{
	at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl>
		<<<blocks(n), 256, 0, s>>>(n, x, dy, dx);
}

void launch_loss(cudaStream_t s, const bf16 *x, const int *label, float *loss, bf16 *dx, int rows,
		 int hidden)
{
	at::native::cunn_SoftMaxForward_nll_loss<bf16>
		<<<rows, 256, 0, s>>>(x, label, loss, dx, rows, hidden);
}

void launch_adam(cudaStream_t s, const bf16 *grad, float *master, float *m, float *v, bf16 *param,
		 size_t n, float grad_scale, int step)
{
	const at::native::AdamFunctor op = {1e-4f, 0.9f, 0.95f, 1e-8f, 0.1f};
	const float fix1 = 1.f / (1.f - powf(op.beta1, step)),
		    fix2 = 1.f / (1.f - powf(op.beta2, step));

	at::native::multi_tensor_apply_kernel<4><<<blocks(n), 256, 0, s>>>(
		grad, master, m, v, param, n, grad_scale, fix1, fix2, op);
}

void launch_fill(cudaStream_t s, bf16 *x, size_t n, float scale, unsigned seed)
{
	at::native::vectorized_elementwise_kernel_fill<4, at::native::FillFunctor>
		<<<blocks(n), 256, 0, s>>>(n, x, scale, seed);
}

void launch_widen(cudaStream_t s, const bf16 *x, float *y, size_t n)
{
	at::native::float16_copy_kernel<4><<<blocks(n), 256, 0, s>>>(n, x, y);
}

void launch_zero(cudaStream_t s, float *x, size_t n)
{
	at::native::unrolled_elementwise_kernel<4, at::native::FillFunctor>
		<<<blocks(n), 256, 0, s>>>(n, x, 0.f);
}
