/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL's profiler plugin said of a row of collectives: its plans, and where its proxy threads spent the time. */
#include <inttypes.h>

#include "report/section.h"

/* As trace.proto numbers them. */
static const char *const algorithms[] = {
	NULL, "tree", "ring", "collnet direct", "collnet chain", "nvls", "nvls tree", "pat"};
static const char *const protocols[] = {NULL, "ll", "ll128", "simple"};

static const char *name_of(const char *const *names, size_t n, uint8_t k)
{
	return k < n ? names[k] : "other";
}
#define NAME_OF(names_, k_) name_of(names_, sizeof(names_) / sizeof((names_)[0]), (k_))

void wt_plans_add(struct wt_coll_row *row, const struct wt_collective *c)
{
	struct wt_plan_row *p = row->plans;

	if (!(c->flags & WT_COLL_PLANNED))
		return;
	row->planned++;
	row->proxies += c->proxies;
	row->proxy_bytes += c->proxy_bytes;
	row->proxy_ns += c->proxy_ns;
	row->proxy_gpu_ns += c->proxy_gpu_ns;
	row->proxy_peer_ns += c->proxy_peer_ns;
	row->proxy_net_ns += c->proxy_net_ns;
	row->channel_ns += c->channel_ns;
	while (p < row->plans + WT_PLANS && p->calls &&
	       (p->algorithm != c->algorithm || p->protocol != c->protocol))
		p++;
	if (p == row->plans + WT_PLANS) {
		row->other_plans++;
		return;
	}
	if (!p->calls)
		*p = (struct wt_plan_row){.algorithm = c->algorithm,
					  .protocol = c->protocol,
					  .channels_min = c->channels,
					  .channels_max = c->channels};
	p->calls++;
	if (c->channels < p->channels_min)
		p->channels_min = c->channels;
	if (c->channels > p->channels_max)
		p->channels_max = c->channels;
}

void wt_plans_json(const struct wt_coll_row *row, struct wt_jout *j)
{
	if (!row->planned) {
		wt_jout_null(j, "plans");
		wt_jout_null(j, "proxy");
		wt_jout_null(j, "channel_ns");
		return;
	}
	wt_jout_open(j, "plans", '[');
	for (int i = 0; i < WT_PLANS && row->plans[i].calls; i++) {
		const struct wt_plan_row *p = &row->plans[i];

		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "algorithm", NAME_OF(algorithms, p->algorithm));
		wt_jout_string(j, "protocol", NAME_OF(protocols, p->protocol));
		wt_jout_uint(j, "channels_min", p->channels_min);
		wt_jout_uint(j, "channels_max", p->channels_max);
		wt_jout_uint(j, "calls", p->calls);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
	if (row->proxies) {
		wt_jout_open(j, "proxy", '{');
		wt_jout_uint(j, "operations", row->proxies);
		wt_jout_uint(j, "bytes", row->proxy_bytes);
		wt_jout_int(j, "ns", row->proxy_ns);
		wt_jout_int(j, "gpu_wait_ns", row->proxy_gpu_ns);
		wt_jout_int(j, "peer_wait_ns", row->proxy_peer_ns);
		wt_jout_int(j, "network_wait_ns", row->proxy_net_ns);
		wt_jout_close(j, '}');
	} else {
		wt_jout_null(j, "proxy");
	}
	wt_jout_count(j, "channel_ns", row->channel_ns ? row->channel_ns : -1);
}

static double share(int64_t part, int64_t all)
{
	return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

void wt_plans_text(const struct wt_coll_row *row, struct wt_strbuf *out)
{
	if (!row->planned)
		return;
	wt_strbuf_adds(out, "      NCCL's plan:");
	for (int i = 0; i < WT_PLANS && row->plans[i].calls; i++) {
		const struct wt_plan_row *p = &row->plans[i];
		const char *algorithm = NAME_OF(algorithms, p->algorithm);
		const char *protocol = NAME_OF(protocols, p->protocol);

		wt_strbuf_addf(out, "%s %" PRIu64 " x %s", i ? "," : "", p->calls,
			       algorithm ? algorithm : "no algorithm said");
		if (protocol)
			wt_strbuf_addf(out, " %s", protocol);
		wt_strbuf_addf(out, " on %u", p->channels_min);
		if (p->channels_max != p->channels_min)
			wt_strbuf_addf(out, " to %u", p->channels_max);
		wt_strbuf_addf(out, " channel%s", p->channels_max == 1 ? "" : "s");
	}
	if (row->other_plans)
		wt_strbuf_addf(out, ", %" PRIu64 " x others", row->other_plans);
	wt_strbuf_adds(out, "\n");
	if (row->proxies)
		wt_strbuf_addf(
			out,
			"      its proxies: %" PRIu64
			" operations, waiting %.1f %% for the GPU, %.1f %% for the other side, "
			"%.1f %% for the network\n",
			row->proxies, share(row->proxy_gpu_ns, row->proxy_ns),
			share(row->proxy_peer_ns, row->proxy_ns),
			share(row->proxy_net_ns, row->proxy_ns));
}
