// The components of one volume: slabs searched side by side, merged, numbered.
#pragma once

#include "grid.h"
#include "kernels.h"
#include "mask_view.h"
#include "numbering.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace breakeven::labelling {

class Labeller {
 public:
  // Refuse what the constructor cannot serve: runs that may be too many for 32 bits, an instruction set that the
  // machine has not. Errors within a parallel region lose their message.
  static void check(const Grid& grid);

  // Cuts the volume into at most `max_slabs` slabs, which threads take side by side. Buffers are kept from one
  // volume to the next.
  Labeller(const Grid& grid, int64_t max_slabs);

  // Find the runs of a mask and join them to components; returns how many of these there are. What is known
  // of the runs is kept in memory of its own or, if given, in that of labels to be written, of so many bytes each.
  int64_t search(const MaskView& mask, void* labels = nullptr, int64_t label_bytes = 4);

  // Number the components that were found.
  void number();

  // Write the labels, int64 where `label_bytes` is 8. Afterwards the runs are no longer known.
  void write(void* labels, int64_t label_bytes, bool passes_caches);

  // What the measuring of components needs, after `number`.
  const Grid& grid() const {
    return grid_;
  }
  const Kernels& kernels() const {
    return kernels_;
  }
  const std::vector<Slab>& slabs() const {
    return slabs_;
  }
  const SlabNumbers& numbers(size_t slab) const {
    return numbers_[slab];
  }
  // Components that begin in the slabs before.
  uint32_t offset(size_t slab) const {
    return offsets_[slab];
  }
  const std::vector<uint32_t>& foreign_labels(size_t slab) const {
    return foreign_labels_[slab];
  }

 private:
  void plan(int64_t max_slabs);
  void allocate();
  void place_parents(void* labels, int64_t label_bytes);
  void merge_slabs();
  void merge_with_next(size_t slab);
  size_t slab_of(uint32_t run) const {
    return run / runs_a_slab_;
  }
  uint32_t& parent_of(uint32_t run) const {
    const Slab& slab = slabs_[slab_of(run)];
    return slab.parents[run - slab.base];
  }
  uint32_t root_of(uint32_t run) const;

  Grid grid_;
  const Kernels& kernels_;
  uint32_t runs_a_slab_ = 1;  // Most that the first slab, the largest, can have.
  std::vector<Slab> slabs_;
  std::vector<LayerBuffers> buffers_;       // By slab.
  std::vector<uint32_t> merged_;            // Roots that the merging of slabs gave a parent.
  std::vector<SlabNumbers> numbers_;        // By slab.
  std::vector<uint32_t> offsets_;           // By slab.
  std::vector<std::vector<uint32_t>> foreign_labels_;  // By slab.
  std::unique_ptr<uint64_t[]> bits_;
  std::unique_ptr<uint64_t[]> words_;       // Of the layer buffers, and a row of zeros.
  std::unique_ptr<uint32_t[]> first_runs_;
  std::unique_ptr<uint32_t[]> befores_;
  std::unique_ptr<uint32_t[]> parents_;     // Where labels give no room.
};

}  // namespace breakeven::labelling
