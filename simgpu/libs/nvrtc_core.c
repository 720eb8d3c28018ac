/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnvrtc.so.13: compiles nothing. A program is its name expressions; the "PTX" and "cubin" are a line of text, which
 * the simulated driver takes as an image of any kernel. Lowered names are the expressions themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simgpu/libs/lib_stub.h"

#define INVALID_INPUT	3
#define INVALID_PROGRAM 4
#define OUT_OF_MEMORY	1

static const char image[] =
	"// simulated: no code\n.version 9.0\n.target sm_80\n.address_size 64\n";

struct program {
	char name[64];
	char lowered[4096]; /* the last expression asked for */
};

SIM_API int nvrtcVersion(int *major, int *minor)
{
	if (!major || !minor)
		return INVALID_INPUT;
	*major = 13;
	*minor = 2;
	return 0;
}

SIM_API int nvrtcCreateProgram(struct program **ret, const char *src, const char *name, int headers,
			       const char *const *sources, const char *const *names)
{
	struct program *p;

	if (!ret || !src)
		return INVALID_INPUT;
	p = calloc(1, sizeof(*p));
	if (!p)
		return OUT_OF_MEMORY;
	snprintf(p->name, sizeof(p->name), "%s", name ? name : "default_program");
	*ret = p;
	return 0;
}

SIM_API int nvrtcDestroyProgram(struct program **p)
{
	if (!p || !*p)
		return INVALID_PROGRAM;
	free(*p);
	*p = NULL;
	return 0;
}

SIM_API int nvrtcCompileProgram(struct program *p, int n, const char *const *options)
{
	return p ? 0 : INVALID_PROGRAM;
}

static int size_of_image(const struct program *p, size_t *ret)
{
	if (!p || !ret)
		return INVALID_INPUT;
	*ret = sizeof(image);
	return 0;
}

static int copy_image(const struct program *p, char *ret)
{
	if (!p || !ret)
		return INVALID_INPUT;
	memcpy(ret, image, sizeof(image));
	return 0;
}

SIM_API int nvrtcGetPTXSize(struct program *p, size_t *ret)
{
	return size_of_image(p, ret);
}

SIM_API int nvrtcGetPTX(struct program *p, char *ret)
{
	return copy_image(p, ret);
}

SIM_API int nvrtcGetCUBINSize(struct program *p, size_t *ret)
{
	return size_of_image(p, ret);
}

SIM_API int nvrtcGetCUBIN(struct program *p, char *ret)
{
	return copy_image(p, ret);
}

SIM_API int nvrtcGetProgramLogSize(struct program *p, size_t *ret)
{
	if (!p || !ret)
		return INVALID_INPUT;
	*ret = 1;
	return 0;
}

SIM_API int nvrtcGetProgramLog(struct program *p, char *ret)
{
	if (!p || !ret)
		return INVALID_INPUT;
	*ret = 0;
	return 0;
}

SIM_API int nvrtcAddNameExpression(struct program *p, const char *expression)
{
	return p && expression ? 0 : INVALID_INPUT;
}

SIM_API int nvrtcGetLoweredName(struct program *p, const char *expression, const char **ret)
{
	if (!p || !expression || !ret)
		return INVALID_INPUT;
	snprintf(p->lowered, sizeof(p->lowered), "%s", expression);
	*ret = p->lowered;
	return 0;
}

SIM_API int nvrtcGetNumSupportedArchs(int *ret)
{
	if (!ret)
		return INVALID_INPUT;
	*ret = 3;
	return 0;
}

SIM_API int nvrtcGetSupportedArchs(int *ret)
{
	static const int archs[] = {80, 90, 100};

	if (!ret)
		return INVALID_INPUT;
	memcpy(ret, archs, sizeof(archs));
	return 0;
}

SIM_API const char *nvrtcGetErrorString(int result)
{
	return result ? "NVRTC_ERROR" : "NVRTC_SUCCESS";
}
