/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds CUPTI and its entry points (cupti_api.h, cupti.def). Never dlclosed: CUPTI may call us back at any time.
 * A library the job loaded comes first whatever its version: two copies of CUPTI in one process disturb each other.
 */
#include "collectors/cupti_api.h"

#include <dlfcn.h>
#include <stddef.h>

#include "agent/real.h"
#include "proto/wt_err.h"

struct wt_cupti_api wt_cupti;

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
#define SONAMES (sizeof(sonames) / sizeof(sonames[0]))

static void *open_library(void)
{
	static const int ways[] = {RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD, RTLD_LAZY | RTLD_LOCAL};

	for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
		for (size_t i = 0; i < SONAMES; i++) {
			void *lib = dlopen(sonames[i], ways[w]);

			if (lib) {
				wt_cupti.soname = sonames[i];
				return lib;
			}
		}
	}
	return NULL;
}

int wt_cupti_load(void)
{
	enum { NEEDED, WANTED };
	static const struct {
		const char *name;
		size_t at;
		int need;
	} entry[] = {
#define WT_CUPTI(name_, need_) {#name_, offsetof(struct wt_cupti_api, name_), need_},
#include "collectors/cupti.def"
#undef WT_CUPTI
	};
	void *lib = open_library();

	if (!lib || wt_real_init())
		return -WT_E_NOENT;
	wt_real_cupti_is(lib);
	for (size_t i = 0; i < WT_CUPTI_ENTRIES; i++) {
		/* Past our own gates: what they hand out is for others. */
		void *f = wt_quiet_dlsym(lib, entry[i].name);

		*(void **)((char *)&wt_cupti + entry[i].at) = f;
		if (f)
			wt_cupti.have |= 1ull << i;
		else if (entry[i].need == NEEDED)
			return -WT_E_UNSUPPORTED;
	}
	return 0;
}
