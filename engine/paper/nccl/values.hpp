// Elements of NCCL's types: named, scaled, combined. Sums go from rank 0 upwards and are rounded to
// the type after each rank, so that all ranks have the same bits. NVIDIA's order is another.
#pragma once

#include <nccl.h>

#include <cstddef>

namespace lockstep::paper {

std::size_t bytes_of(ncclDataType_t type);  // 0: no type of NCCL's
const char* name_of(ncclDataType_t type);   // "float32"
const char* name_of(ncclRedOp_t op);        // "sum"; of one that multiplies before, "premulsum"
bool can_reduce(ncclDataType_t type);       // paper has no sums of float8
bool is_integer(ncclDataType_t type);

double value_at(const std::byte* place, ncclDataType_t type);
void scale(std::byte* values, std::size_t count, ncclDataType_t type, double factor);
void divide(std::byte* values, std::size_t count, ncclDataType_t type, int by);  // of integers
// values[i] = op(values[i], others[i]). An average sums here: floats are scaled before, integers
// divided after.
void combine(std::byte* values, const std::byte* others, std::size_t count, ncclDataType_t type,
             ncclRedOp_t op);

}  // namespace lockstep::paper
