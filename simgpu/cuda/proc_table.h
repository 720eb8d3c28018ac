/* SPDX-License-Identifier: Apache-2.0 */
/* The generated table behind cuGetProcAddress: which ABI a CUDA version means by a name. */
#ifndef SIM_PROC_TABLE_H
#define SIM_PROC_TABLE_H

struct sim_proc {
	const char *name;
	int version;	/* first CUDA version with this ABI */
	int per_thread; /* a _ptsz or _ptds variant */
	void *address;	/* of the export */
};
extern const struct sim_proc sim_procs[]; /* by name, legacy before per-thread, then by version */
extern const unsigned int sim_n_procs;

#endif
