// Run passes on a GPU: on the device and the current stream of a tensor, each launch checked.
//
// A flat pass does the work of one index: `void operator()(int64_t index) const`.
//
// A block pass lets `kThreads` threads work together in `kPhases` phases, with a barrier after each and
// memory of type `Shared` in common, uninitialised:
// `void run(int phase, int64_t block, int thread, Shared& shared) const`.
//
// Indices are 64-bit throughout: a volume may have more than 2^31 voxels.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/macros.h>
#include <torch/csrc/stable/tensor.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace breakeven {

constexpr int kFlatThreads = 256;
// Enough to fill any GPU many times over; what is left is done by the strides.
constexpr int64_t kMaxGrid = int64_t{1} << 20;

template <typename Pass>
__global__ void __launch_bounds__(kFlatThreads) run_flat(const Pass pass, const int64_t count) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    pass(i);
  }
}

template <typename Pass>
__global__ void __launch_bounds__(Pass::kThreads) run_blocks(const Pass pass, const int64_t count) {
  __shared__ typename Pass::Shared shared;
  for (int64_t block = blockIdx.x; block < count; block += gridDim.x) {
#pragma unroll
    for (int phase = 0; phase < Pass::kPhases; ++phase) {
      pass.run(phase, block, static_cast<int>(threadIdx.x), shared);
      __syncthreads();
    }
  }
}

// Launches on the device of `tensor`, which is the current one as long as this lives.
class CudaLauncher {
 public:
  explicit CudaLauncher(const torch::stable::Tensor& tensor) : guard_(tensor.get_device_index()) {
    void* stream = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(tensor.get_device_index(), &stream));
    stream_ = static_cast<cudaStream_t>(stream);
  }

  template <typename Pass>
  void flat(const Pass& pass, int64_t count) const {
    if (count == 0) {
      return;
    }
    const int64_t grid = std::min((count + kFlatThreads - 1) / kFlatThreads, kMaxGrid);
    run_flat<<<static_cast<unsigned>(grid), kFlatThreads, 0, stream_>>>(pass, count);
    STD_CUDA_KERNEL_LAUNCH_CHECK();
  }

  template <typename Pass>
  void blocks(const Pass& pass, int64_t count) const {
    if (count == 0) {
      return;
    }
    const int64_t grid = std::min(count, kMaxGrid);
    run_blocks<<<static_cast<unsigned>(grid), Pass::kThreads, 0, stream_>>>(pass, count);
    STD_CUDA_KERNEL_LAUNCH_CHECK();
  }

  // One value from the device; waits for what was launched before.
  template <typename Value>
  Value read(const Value* address) const {
    Value value;
    STD_CUDA_CHECK(cudaMemcpyAsync(&value, address, sizeof(Value), cudaMemcpyDeviceToHost, stream_));
    STD_CUDA_CHECK(cudaStreamSynchronize(stream_));
    return value;
  }

 private:
  torch::stable::accelerator::DeviceGuard guard_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace breakeven
