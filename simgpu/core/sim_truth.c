/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sim_truth.h. Rows are written when their operation completes, whole rows only, so that a killed process leaves a
 * valid prefix. Any thread; one lock, taken last.
 */
#include "simgpu/core/sim_truth.h"

#include "simgpu/core/sim_base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	int fd;
	size_t n;
	char buf[32768];
} truth = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static void flush_locked(void)
{
	size_t done = 0;

	while (done < truth.n) {
		ssize_t w = write(truth.fd, truth.buf + done, truth.n - done);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0) {
			sim_complain("truth: %s: the list ends here", strerror(errno));
			close(truth.fd);
			truth.fd = -1;
			break;
		}
		done += (size_t)w;
	}
	truth.n = 0;
}

/* One row; a name too long for the buffer is cut, never a number. Tabs and newlines would break the table. */
static void row(const char *numbers, const char *tag, const char *name)
{
	size_t n = strlen(numbers), t = strlen(tag), m = strlen(name);

	if (t > 1024)
		t = 1024;
	if (m > sizeof(truth.buf) / 2)
		m = sizeof(truth.buf) / 2;
	pthread_mutex_lock(&truth.lock);
	if (truth.fd >= 0) {
		char *p;
		if (truth.n + n + t + m + 2 > sizeof(truth.buf))
			flush_locked();
		p = truth.buf + truth.n;
		memcpy(p, numbers, n);
		memcpy(p + n, tag, t);
		p[n + t] = '\t';
		memcpy(p + n + t + 1, name, m);
		for (char *c = p + n; c < p + n + t + 1 + m; c++)
			if ((*c == '\t' && c != p + n + t) || *c == '\n')
				*c = ' ';
		p[n + t + 1 + m] = '\n';
		truth.n += n + t + m + 2;
	}
	pthread_mutex_unlock(&truth.lock);
}

int sim_truth_open(const char *dir, char *err, size_t err_bytes)
{
	static const char head[] =
		"row\tkind\tdevice\tcontext\tstream\tcorrelation\tgraph\tgraph_node\tsubmit_ns\t"
		"start_ns\tend_ns\tgrid\tblock\tsmem\tbytes\ttid\ttag\tname\n";
	char path[4096];

	if (!dir || !*dir || truth.fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "%s/truth.%d.tsv", dir, (int)getpid());
	truth.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (truth.fd < 0) {
		snprintf(err, err_bytes, "SIMGPU_TRUTH: cannot make %s: %s", path, strerror(errno));
		return -1;
	}
	if (write(truth.fd, head, sizeof(head) - 1) < 0) {
		snprintf(err, err_bytes, "SIMGPU_TRUTH: cannot write %s: %s", path,
			 strerror(errno));
		return -1;
	}
	return 0;
}

void sim_truth_op(const struct sim_op *op)
{
	static const char *const kinds[] = {"", "kernel", "memcpy", "memset"};
	char s[512];

	if (truth.fd < 0)
		return;
	snprintf(s, sizeof(s),
		 "op\t%s\t%u\t%u\t%u\t%u\t%u\t%llu\t%lld\t%lld\t%lld\t%u,%u,%u\t%u,%u,%u\t%u\t%"
		 "llu\t%u\t",
		 kinds[op->kind], op->device, op->context, op->stream, op->correlation, op->graph,
		 (unsigned long long)op->graph_node, (long long)op->submit_ns,
		 (long long)op->start_ns, (long long)op->end_ns, op->grid[0], op->grid[1],
		 op->grid[2], op->block[0], op->block[1], op->block[2], op->dyn_smem,
		 (unsigned long long)op->bytes, op->tid);
	row(s, op->tag, op->name ? op->name : "");
}

void sim_truth_call(const char *name, int64_t start_ns, uint32_t correlation, int result)
{
	char s[256];

	if (truth.fd < 0 || !start_ns)
		return;
	snprintf(s, sizeof(s),
		 "call\t%d\t0\t0\t0\t%u\t0\t0\t0\t%lld\t%lld\t0,0,0\t0,0,0\t0\t0\t%u\t", result,
		 correlation, (long long)start_ns, (long long)sim_now_ns(),
		 (unsigned)syscall(SYS_gettid));
	row(s, "", name);
}

void sim_truth_memory(bool alloc, const char *kind, uint32_t device, uint64_t bytes,
		      uint64_t address, uint32_t tid, int64_t ns)
{
	char s[256], tag[32];

	if (truth.fd < 0)
		return;
	snprintf(s, sizeof(s),
		 "%s\t%s\t%u\t0\t0\t0\t0\t0\t%lld\t%lld\t%lld\t0,0,0\t0,0,0\t0\t%llu\t%u\t",
		 alloc ? "alloc" : "free", kind, device, (long long)ns, (long long)ns,
		 (long long)ns, (unsigned long long)bytes, tid);
	snprintf(tag, sizeof(tag), "0x%llx", (unsigned long long)address);
	row(s, tag, "");
}

void sim_truth_flush(void)
{
	if (truth.fd < 0)
		return;
	pthread_mutex_lock(&truth.lock);
	if (truth.fd >= 0)
		flush_locked();
	pthread_mutex_unlock(&truth.lock);
}

void sim_truth_vnote(const char *key, const char *fmt, va_list ap)
{
	char s[256], value[1024];

	if (truth.fd < 0)
		return;
	vsnprintf(value, sizeof(value), fmt, ap);
	snprintf(s, sizeof(s),
		 "note\t%.64s\t0\t0\t0\t0\t0\t0\t%lld\t0\t0\t0,0,0\t0,0,0\t0\t0\t%u\t", key,
		 (long long)sim_now_ns(), (unsigned)syscall(SYS_gettid));
	row(s, "", value);
	sim_truth_flush();
}

void sim_truth_note(const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sim_truth_vnote(key, fmt, ap);
	va_end(ap);
}
