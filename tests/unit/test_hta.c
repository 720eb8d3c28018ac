/* SPDX-License-Identifier: Apache-2.0 */
/* HTA's rules on files small enough to do by hand. That they are HTA's is shown against HTA: report-as-hta.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "import/import_kineto.h"
#include "ledger/hta.h"

#define GPU(cat_, name_, stream_, corr_, ts_, dur_)                                                \
	"{\"ph\":\"X\",\"cat\":\"" cat_ "\",\"name\":\"" name_                                     \
	"\",\"pid\":0,\"tid\":7,\"ts\":" ts_ ",\"dur\":" dur_                                      \
	",\"args\":{\"device\":0,\"stream\":" stream_ ",\"correlation\":" corr_ "}},"
#define CPU(cat_, name_, corr_, ts_, dur_)                                                         \
	"{\"ph\":\"X\",\"cat\":\"" cat_ "\",\"name\":\"" name_                                     \
	"\",\"pid\":1,\"tid\":1,\"ts\":" ts_ ",\"dur\":" dur_ ",\"args\":{\"correlation\":" corr_  \
	"}},"
#define STEP(cat_, n_, ts_, dur_)                                                                  \
	"{\"ph\":\"X\",\"cat\":\"" cat_ "\",\"name\":\"ProfilerStep#" n_                           \
	"\",\"pid\":1,\"tid\":1,\"ts\":" ts_ ",\"dur\":" dur_ "},"
#define HEAD "{\"traceEvents\":["
#define TAIL "{}]}"

struct seen {
	struct wt_timeline *tl;
	struct wt_hta *h;
	const struct wt_hta_rank *r;
};

static struct seen view(const char *text)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_source *src;
	struct seen s;

	wt_builder_keep_asides(b);
	assert_int_equal(wt_source_open_memory(&src, text, strlen(text)), 0);
	assert_int_equal(wt_importer_kineto.read(src, b, wt_builder_input(b, "t", "kineto"), NULL),
			 0);
	wt_source_close(src);
	assert_int_equal(wt_builder_finish(b, &s.tl, NULL), 0);
	assert_int_equal(wt_hta_build(&s.h, s.tl), 0);
	assert_int_equal(s.h->nranks, 1);
	s.r = s.h->ranks;
	return s;
}

static void leave(struct seen *s)
{
	wt_hta_free(s->h);
	wt_timeline_free(s->tl);
}

static void breakdown(void **state)
{
	/* compute [100,200) and [260,300), communication [150,250), a copy [290,310), a wait of no work [400,410). */
	struct seen s =
		view(HEAD CPU("cuda_runtime", "cudaLaunchKernel", "1", "90",
			      "5") CPU("cuda_runtime", "cudaLaunchKernel", "2", "96",
				       "2") CPU("cuda_runtime", "cudaLaunchKernel", "3", "255", "2")
			     CPU("cuda_runtime", "cudaMemcpyAsync", "4", "100",
				 "2") GPU("kernel", "gemm", "7", "1", "100", "100")
				     GPU("kernel", "ncclDevKernel_X", "20", "2", "150",
					 "100") GPU("kernel", "gemm", "7", "3", "260", "40")
					     GPU("gpu_memcpy", "Memcpy HtoD", "7", "4", "290", "20")
						     GPU("cuda_sync", "Stream Sync", "7", "5",
							 "400", "10") TAIL);

	assert_int_equal(s.r->rows, 5);
	assert_int_equal(s.r->asides, 1);
	assert_int_equal(s.r->left_out, 0);
	assert_int_equal(s.r->kernel_ns, 310000);
	assert_int_equal(s.r->compute_ns, 140000);
	assert_int_equal(s.r->idle_ns, 100000); /* [250,260) and [310,400) */
	assert_int_equal(s.r->non_compute_ns, 70000);
	assert_int_equal(s.r->comm_ns, 100000);
	assert_int_equal(s.r->overlap_ns, 50000);
	assert_int_equal(s.r->nstreams, 2);
	/* [200,260): launched at 255, after the row before; -10 where rows overlap is shorter than 30. */
	assert_int_equal(s.r->streams[0].ns[WT_HTA_HOST_WAIT], 60000);
	assert_int_equal(s.r->streams[0].ns[WT_HTA_KERNEL_WAIT], -10000);
	assert_int_equal(s.r->streams[0].rows[WT_HTA_OTHER], 1);
	assert_int_equal(s.r->streams[0].ns[WT_HTA_OTHER], 0);
	assert_int_equal(s.r->streams[1].rows[WT_HTA_HOST_WAIT], 0);
	leave(&s);
}

static void steps_filter(void **state)
{
	/* Two steps until 200; one kernel is launched in them, one after, one by a call that is not in the file. */
	struct seen s = view(HEAD STEP("user_annotation", "1", "0", "100") STEP("user_annotation",
										"2", "100", "100")
				     CPU("cuda_runtime", "cudaLaunchKernel", "1", "90",
					 "5") CPU("cuda_runtime", "cudaLaunchKernel", "2", "201",
						  "5") GPU("kernel", "a", "7", "1", "100", "10")
					     GPU("kernel", "b", "7", "2", "210", "10")
						     GPU("kernel", "c", "7", "9", "50", "10") TAIL);

	assert_int_equal(s.r->rows, 1);
	assert_int_equal(s.r->left_out, 2);
	assert_int_equal(s.r->kernel_ns, 10000);
	leave(&s);
	/* One step filters nothing. A step of the GPU's own track counts as one. */
	s = view(HEAD STEP("user_annotation", "1", "0", "100")
			 CPU("cuda_runtime", "cudaLaunchKernel", "2", "201", "5")
				 GPU("kernel", "b", "7", "2", "210", "10") TAIL);
	assert_int_equal(s.r->rows, 1);
	leave(&s);
	s = view(HEAD STEP("user_annotation", "1", "0", "100")
			 STEP("gpu_user_annotation", "2", "100", "120")
				 CPU("cuda_runtime", "cudaLaunchKernel", "2", "201", "5")
					 GPU("kernel", "b", "7", "2", "210", "10") TAIL);
	assert_int_equal(s.r->rows, 1);
	assert_int_equal(s.r->left_out, 0);
	leave(&s);
}

static void oddities(void **state)
{
	/* An operator with a stream computes; a row without a launch is launched by the file's first event. */
	struct seen s = view(
		HEAD CPU("cpu_op", "late", "0", "130", "1")
			GPU("cpu_op", "triton_x", "7", "0", "300", "10")
				GPU("kernel", "a", "7", "1", "100", "10")
					GPU("kernel", "b", "7", "2", "115", "10")
						GPU("kernel", "c", "7", "3", "140", "10") TAIL);

	assert_int_equal(s.r->asides, 1);
	assert_int_equal(s.r->compute_ns, 40000);
	assert_int_equal(s.r->kernel_ns, 210000);
	assert_int_equal(s.r->streams[0].ns[WT_HTA_HOST_WAIT],
			 20000); /* 130 is after 110 and 125 */
	leave(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breakdown),
		cmocka_unit_test(steps_filter),
		cmocka_unit_test(oddities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
