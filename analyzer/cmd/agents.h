/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents that run on this machine as this user, by their control sockets: agent/control_sock.h says where those
 * are.
 */
#ifndef WT_AGENTS_H
#define WT_AGENTS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/control_msg.h"

struct wt_agent_ref {
	char path[512]; /* of the socket */
	int pid;	/* in this namespace, as the kernel says; 0 = not seen from here */
};

/* Finds those that answer, at most `room`; pid 0 = all. Removes sockets that nobody listens at. Returns how many. */
size_t wt_agents_find(int pid, struct wt_agent_ref *ret, size_t room);
/* One request, one reply (terminated). 0; -WT_E_NOENT nobody listens; -WT_E_IO no answer in time, errno says more. */
int wt_agent_ask(const struct wt_agent_ref *a, const struct wt_ctl_request *r, char *reply,
		 size_t room);
/* Value of "key value" in a reply; "" if it is not there. */
const char *wt_agent_value(const char *reply, const char *key, char *out, size_t n);

#endif
