/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels an image holds. Accepted: a fat binary (with or without nvcc's wrapper), an ELF cubin, PTX text. Where
 * the names can be read they are all there are, with registers and shared memory from the cubin; where they cannot (a
 * compressed fat binary) any name that is asked for becomes a kernel.
 *
 * An image comes as a bare pointer: its size is what its own headers say. Offsets are checked against that size.
 */
#define _GNU_SOURCE
#include "simgpu/cuda/drv.h"

#include <elf.h>
#include <stdlib.h>

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC  0xba55ed50u
#define KIND_PTX      1
#define KIND_ELF      2
#define FLAG_PACKED   0xa000u /* LZ4 or zstd */
#define MAX_IMAGE     (1ull << 31)

struct fatbin_head {
	uint32_t magic;
	uint16_t version, head_bytes;
	uint64_t bytes; /* of the entries that follow */
};

struct fatbin_entry {
	uint16_t kind, version;
	uint32_t head_bytes;
	uint64_t bytes; /* as stored */
	uint32_t packed_bytes, unknown;
	uint16_t minor, major;
	uint32_t arch;
	uint64_t name_offset_bytes;
	uint64_t flags;
	uint64_t zero, unpacked_bytes;
};

static void add(struct drv_image *image, const char *name, unsigned int regs, unsigned int smem,
		unsigned int frame)
{
	struct CUfunc_st *f;

	for (f = image->funcs; f; f = f->next)
		if (!strcmp(f->name, name))
			return; /* the same kernel for another architecture */
	f = drv_func_new(name);
	if (regs)
		f->regs = regs;
	f->static_smem = smem;
	f->local_bytes = frame;
	f->next = image->funcs;
	image->funcs = f;
}

struct drv_global *drv_image_global(struct drv_image *image, const char *name, size_t bytes)
{
	struct drv_global *g = sim_alloc(sizeof(*g));

	g->name = sim_intern(name);
	g->bytes = bytes ? bytes : 1;
	g->next = image->globals;
	image->globals = g;
	return g;
}

/* A cubin whose section table and section names have been checked. */
struct cubin {
	const unsigned char *p;
	uint64_t bytes;
	const Elf64_Shdr *section;
	unsigned int n;
	const char *names;
	size_t names_bytes;
};

static const char *section_name(const struct cubin *c, unsigned int i)
{
	return c->section[i].sh_name < c->names_bytes ? c->names + c->section[i].sh_name : "";
}

static const Elf64_Shdr *section_of(const struct cubin *c, const char *name)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (!strcmp(section_name(c, i), name))
			return &c->section[i];
	return NULL;
}

/* Shared memory a kernel declares: its .nv.shared section, less the KiB that newer devices keep at its start. */
static unsigned int shared_bytes(const struct cubin *c, const char *kernel)
{
	unsigned int reserved = section_of(c, ".nv.shared.reserved.0") ? 1024 : 0;

	for (unsigned int i = 0; i < c->n; i++) {
		const char *name = section_name(c, i);
		if (!strncmp(name, ".nv.shared.", 11) && !strcmp(name + 11, kernel))
			return c->section[i].sh_size > reserved
				       ? (unsigned int)c->section[i].sh_size - reserved
				       : 0;
	}
	return 0;
}

/* A value that .nv.info holds for a symbol: records of {format, attribute, size}, format 4 = `size` bytes follow. */
static unsigned int info(const struct cubin *c, unsigned int attribute, uint32_t symbol)
{
	const Elf64_Shdr *s = section_of(c, ".nv.info");
	const unsigned char *p, *end;

	if (!s || s->sh_offset > c->bytes || s->sh_size > c->bytes - s->sh_offset)
		return 0;
	p = c->p + s->sh_offset;
	end = p + s->sh_size;
	while (end - p >= 4) {
		unsigned int size = p[0] == 4 ? (unsigned int)p[2] | (unsigned int)p[3] << 8 : 0;
		uint32_t pair[2];
		if (size > (size_t)(end - p) - 4)
			break;
		if (p[1] == attribute && size == sizeof(pair)) {
			memcpy(pair, p + 4, sizeof(pair));
			if (pair[0] == symbol)
				return pair[1];
		}
		p += 4 + size;
	}
	return 0;
}

/* Variables are the symbols of objects. */
static void cubin_globals(struct drv_image *image, const struct cubin *c)
{
	const Elf64_Shdr *t = section_of(c, ".symtab"), *names;
	const Elf64_Sym *symbols;

	if (!t || t->sh_link >= c->n || t->sh_offset % 8 || t->sh_offset > c->bytes ||
	    t->sh_size > c->bytes - t->sh_offset)
		return;
	names = &c->section[t->sh_link];
	if (names->sh_offset > c->bytes || names->sh_size > c->bytes - names->sh_offset ||
	    !names->sh_size || c->p[names->sh_offset + names->sh_size - 1])
		return;
	symbols = (const void *)(c->p + t->sh_offset);
	for (uint64_t i = 0; i < t->sh_size / sizeof(*symbols); i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT && symbols[i].st_shndx &&
		    symbols[i].st_name < names->sh_size)
			drv_image_global(image,
					 (const char *)c->p + names->sh_offset + symbols[i].st_name,
					 symbols[i].st_size);
}

/* Kernels are the sections .text.NAME; sh_info is the symbol, and the registers above it before CUDA 13. */
static bool parse_elf(struct drv_image *image, const unsigned char *p, uint64_t bytes)
{
	enum { INFO_FRAME = 0x11, INFO_REGISTERS = 0x2f };
	const Elf64_Ehdr *h = (const void *)p;
	struct cubin c = {.p = p, .bytes = bytes};
	const Elf64_Shdr *strings;

	if (bytes < sizeof(*h) || (uintptr_t)p % 8 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_shentsize != sizeof(*c.section) || h->e_shoff > bytes || h->e_shoff % 8 ||
	    (uint64_t)h->e_shnum * sizeof(*c.section) > bytes - h->e_shoff ||
	    h->e_shstrndx >= h->e_shnum)
		return false;
	c.section = (const void *)(p + h->e_shoff);
	c.n = h->e_shnum;
	strings = &c.section[h->e_shstrndx];
	if (strings->sh_offset > bytes || strings->sh_size > bytes - strings->sh_offset ||
	    !strings->sh_size || p[strings->sh_offset + strings->sh_size - 1])
		return false;
	c.names = (const char *)p + strings->sh_offset;
	c.names_bytes = strings->sh_size;
	for (unsigned int i = 0; i < c.n; i++) {
		const char *name = section_name(&c, i);
		uint32_t symbol = c.section[i].sh_info & 0xffffff,
			 regs = c.section[i].sh_info >> 24;
		if (!strncmp(name, ".text.", 6) && name[6])
			add(image, name + 6, regs ? regs : info(&c, INFO_REGISTERS, symbol),
			    shared_bytes(&c, name + 6), info(&c, INFO_FRAME, symbol));
	}
	cubin_globals(image, &c);
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Variables: the last word before [, = or ; of what begins with this state space (ld.global does not). */
static void ptx_globals(struct drv_image *image, const char *text, size_t bytes, const char *space)
{
	const char *end = text + bytes, *p = text;
	size_t n = strlen(space);

	while ((p = memmem(p, (size_t)(end - p), space, n))) {
		const char *before = p - 1, *to = p += n, *from;
		char name[256];
		size_t length;

		if (p == end || !is_blank(*p) || (before >= text && !is_blank(*before)))
			continue;
		while (to < end && !strchr("[=;,)", *to))
			to++;
		if (to == end || *to == ',' || *to == ')')
			continue;
		while (is_blank(to[-1]))
			to--;
		for (from = to; !is_blank(from[-1]);)
			from--;
		length = (size_t)(to - from);
		if (length >= sizeof(name))
			continue;
		memcpy(name, from, length);
		name[length] = 0;
		drv_image_global(image, name, DRV_GLOBAL_BYTES);
	}
}

/* Kernels are the names after .entry. */
static bool parse_ptx(struct drv_image *image, const char *text, size_t bytes)
{
	const char *end = text + bytes, *p = text;

	while (p < end && (p = memmem(p, (size_t)(end - p), ".entry", 6))) {
		char name[4096];
		size_t n = 0;
		for (p += 6; p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'); p++)
			;
		while (p < end && n < sizeof(name) - 1 && *p && !strchr(" \t\r\n({;", *p))
			name[n++] = *p++;
		name[n] = 0;
		if (n)
			add(image, name, 0, 0, 0);
	}
	ptx_globals(image, text, bytes, ".global");
	ptx_globals(image, text, bytes, ".const");
	return true;
}

static bool parse_fatbin(struct drv_image *image, const unsigned char *p)
{
	struct fatbin_head h;
	uint64_t at, end;
	bool all = true, any = false;

	memcpy(&h, p, sizeof(h));
	if (h.head_bytes < sizeof(h) || h.bytes > MAX_IMAGE)
		return false;
	at = h.head_bytes;
	end = at + h.bytes;
	while (end - at >= 64) {
		struct fatbin_entry e;
		memcpy(&e, p + at, 64);
		if (e.head_bytes < 64 || e.head_bytes > end - at ||
		    e.bytes > end - at - e.head_bytes)
			return false;
		if (e.flags & FLAG_PACKED || e.packed_bytes)
			all = false;
		else if (e.kind == KIND_ELF)
			all = parse_elf(image, p + at + e.head_bytes, e.bytes) && all;
		else if (e.kind == KIND_PTX)
			all = parse_ptx(image, (const char *)p + at + e.head_bytes, e.bytes) && all;
		else
			all = false;
		any = true;
		at += e.head_bytes + e.bytes;
	}
	return all && any;
}

/* The size of an ELF file: where its last header or section ends. */
static uint64_t elf_bytes(const unsigned char *p)
{
	const Elf64_Ehdr *h = (const void *)p;
	const Elf64_Shdr *s;
	uint64_t end = h->e_shoff + (uint64_t)h->e_shnum * h->e_shentsize;

	if (h->e_shoff > MAX_IMAGE || h->e_shentsize != sizeof(*s) || h->e_shoff % 8 ||
	    (uintptr_t)p % 8)
		return 0;
	s = (const void *)(p + h->e_shoff);
	for (unsigned int i = 0; i < h->e_shnum; i++)
		if (s[i].sh_type != SHT_NOBITS && s[i].sh_offset <= MAX_IMAGE &&
		    s[i].sh_size <= MAX_IMAGE && s[i].sh_offset + s[i].sh_size > end)
			end = s[i].sh_offset + s[i].sh_size;
	return end;
}

void drv_image_parse(struct drv_image *image, const void *data)
{
	const unsigned char *p = data;
	uint32_t magic;

	memcpy(&magic, p, 4);
	if (magic == WRAPPER_MAGIC) {
		const void *inner;
		memcpy(&inner, p + 8, sizeof(inner));
		if (inner)
			drv_image_parse(image, inner);
	} else if (magic == FATBIN_MAGIC) {
		image->complete = parse_fatbin(image, p);
	} else if (!memcmp(p, ELFMAG, SELFMAG)) {
		image->complete = parse_elf(image, p, elf_bytes(p));
	} else {
		/* Text, ended by a NUL as the API demands. */
		image->complete = parse_ptx(image, data, strlen(data)) && image->funcs;
	}
}
