// Converts exceptions to Errors, for main() and the C ABI.
#pragma once

#include <exception>
#include <new>

#include "hirgen/error.hpp"

namespace hirgen {

/// Returns the exception being handled as an Error. Call this only in a catch block.
inline Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {Code::kEnvironment, "out of host memory"};
  } catch (const std::exception& error) {
    return {Code::kInternal, error.what()};
  } catch (...) {
    return {Code::kInternal, "an exception of an unknown type"};
  }
}

}  // namespace hirgen
