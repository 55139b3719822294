// Runs of a slab and their components within it; included once a level, after link_body.h.

// Union by the smaller number, so that a parent is never after its child; both paths are shortened on the way
// (Rem's algorithm with splicing: Dijkstra, A Discipline of Programming, 1976).
struct JoinWithin {
  uint32_t* parents;

  void operator()(uint32_t a, uint32_t b) {
    while (parents[a] != parents[b]) {
      if (parents[a] < parents[b]) {
        const uint32_t swapped = a;
        a = b;
        b = swapped;
      }
      const uint32_t parent = parents[a];
      parents[a] = parents[b];
      if (parent == a) {
        return;
      }
      a = parent;
    }
  }
};

template <Bundling kBundling>
inline void join_slab_of(const Grid& grid, Slab& slab, const LayerBuffers& buffers) {
  JoinWithin join{slab.parents};
  const int64_t bundles = slab.bundles_a_layer(grid);
  uint32_t num_runs = 0;
  slab.first_run[0] = 0;
  Layer above{};
  for (int64_t index = 0; index < slab.layers(grid); ++index) {
    const int side = index % 2;
    const Layer layer = layer_of(grid, slab, index, buffers.any[side], buffers.starts[side], buffers.before[side]);
    uint32_t* const first_run = slab.first_run + index * bundles;
    for (int64_t bundle = 0; bundle < bundles; ++bundle) {
      const uint32_t found = find_runs(grid, layer, bundle, num_runs);
      for (uint32_t run = 0; run < found; ++run) {
        slab.parents[num_runs + run] = num_runs + run;
      }
      num_runs += found;
      first_run[bundle + 1] = num_runs;
      if (found == 0) {
        continue;
      }
      if (bundle > 0 && has_runs(layer, bundle - 1)) {
        join_beside<kBundling>(grid, layer, bundle, layer, bundle - 1, join);
      }
      if (index > 0) {
        join_above<kBundling>(grid, layer, bundle, above, join);
      }
    }
    above = layer;
  }
  slab.num_runs = num_runs;
}

// Find the runs of a slab and join those that touch. Then each run's parent is the first run of its component
// within the slab, counted among the runs of all slabs; returns how many of these there are.
uint32_t join_slab(const Grid& grid, Slab& slab, const LayerBuffers& buffers) {
  switch (grid.bundling) {
    case Bundling::single:
      join_slab_of<Bundling::single>(grid, slab, buffers);
      break;
    case Bundling::pair:
      join_slab_of<Bundling::pair>(grid, slab, buffers);
      break;
    case Bundling::quad:
      join_slab_of<Bundling::quad>(grid, slab, buffers);
      break;
  }
  uint32_t num_roots = 0;
  for (uint32_t run = 0; run < slab.num_runs; ++run) {
    const uint32_t parent = slab.parents[run];
    const bool is_root = parent == run;
    num_roots += is_root;
    slab.parents[run] = is_root ? slab.base + run : slab.parents[parent];
  }
  return num_roots;
}
