// All that one instruction set has of its own, in the order of use.
//
// BREAKEVEN_AVX2 and BREAKEVEN_AVX512 are 1 where their instructions may be used, and 0 elsewhere.
#include "lanes_body.h"
#include "bits_body.h"
#include "rows_body.h"
#include "search_body.h"
#include "descent_body.h"
#include "envelope_body.h"
#include "column_body.h"
#include "values_body.h"
#include "plane_body.h"
#include "depth_body.h"

constexpr Level kLevel{
    find_zeros, {pass_plane<int32_t>, pass_depth<int32_t>}, {pass_plane<double>, pass_depth<double>}};
