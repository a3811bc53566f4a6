/* Prints the transport that an emitted library uses. */
#include <stdio.h>
#include <string.h>

#include "exchange.h"

int main(void) {
  hirgen_handle* handle = NULL;
  if (strcmp(hirgen_exchange_transport(handle), "") != 0) return HIRGEN_WRONG;
  const int code = hirgen_exchange_create(NULL, &handle);
  if (code != HIRGEN_OK) {
    fprintf(stderr, "create: code %d: %s\n", code, hirgen_exchange_last_error(NULL));
    return code;
  }
  printf("transport %s\n", hirgen_exchange_transport(handle));
  return hirgen_exchange_destroy(handle);
}
