/* shared: libfakecuda_old.so */
/* cflags: -Wl,-soname,libcuda.so.1 -Iagent -Wno-unused-function -Wl,--version-script=tests/cli/src/fake_old.map */
/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of fake_cuda.c as if it were older: the entries that fake_old.map keeps local are missing. */
#include "fake_cuda.c"
