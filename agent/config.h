/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's settings: read once from the environment by the constructor, constant afterwards. A value that is out
 * of range or not understood leaves the default in place and is told in the log; so is an unknown WARPTAP_* name.
 */
#ifndef WT_CONFIG_H
#define WT_CONFIG_H

#include <stdint.h>

#include "agent.h"
#include "proto/control_msg.h"

#define WT_CONFIG_TEXT_MAX 1024

#define WT_FIELD_UINT(name_)  uint32_t name_;
#define WT_FIELD_LEVEL(name_) uint32_t name_;
#define WT_FIELD_TEXT(name_)  char name_[WT_CONFIG_TEXT_MAX];
#define WT_FIELD_SPAN(name_)  struct wt_span name_;
#define WT_FIELD_PPM(name_)   uint32_t name_;
struct wt_config {
#define WT_OPT(name_, env_, type_, def_, min_, max_, help_) WT_FIELD_##type_(name_)
#include "config.def"
#undef WT_OPT
};
#undef WT_FIELD_UINT
#undef WT_FIELD_LEVEL
#undef WT_FIELD_TEXT
#undef WT_FIELD_SPAN
#undef WT_FIELD_PPM

extern struct wt_config wt_config;

/* Defaults, then the environment through secure_getenv (so setuid programs see none). Returns how many were refused. */
int wt_config_read(void);
/* One setting from text, as if the variable had held it: 0, -WT_E_NOENT unknown variable, -WT_E_LIMIT bad value. */
int wt_config_set(const char *env_name, const char *value);
/* Calls fn with the variable's name and the value in force, for every setting. */
void wt_config_each(void (*fn)(void *arg, const char *name, const char *value), void *arg);
const char *wt_level_name(uint32_t level); /* "inert", "off", ... */

#endif
