/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders a black box may lie in, first fit; the agent makes it there, recovery looks for it there. NULL = not set.
 * The last one only where it is large.
 */
#ifndef WT_BOX_PLACES_H
#define WT_BOX_PLACES_H

#define WT_BOX_PLACES(asked_, traces_, runtime_)                                                   \
	{                                                                                          \
		asked_, traces_, "/tmp", runtime_, "/dev/shm"                                      \
	}

#endif
