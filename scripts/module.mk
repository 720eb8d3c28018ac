# SPDX-License-Identifier: Apache-2.0
# Lint, the demo, installing and packing.
VERSION := $(shell sed -n 's/.*WT_VERSION "\(.*\)".*/\1/p' analyzer/cmd/cmd.h 2>/dev/null)
prefix  ?= /usr/local
bindir  := $(prefix)/bin
libdir  := $(prefix)/lib/warptap
incdir  := $(prefix)/include
mandir  := $(prefix)/share/man
pcdir   := $(prefix)/lib/pkgconfig
MAN      = $(sort $(wildcard $(foreach d,analyzer analyzer/* proto agent,$(d)/*.[1-9])))
PUBLIC   = $(sort $(wildcard include/warptap/*.h))

lint: ## format, include rules, banned calls, spelling, man pages, static analysis; a build with clang
	@scripts/setup check
	@$(SUBMAKE) all
	@BUILD=$(O) scripts/lint
	@$(SUBMAKE) CC=clang O=$(O)/clang all

demo: ## record and report a training job of two ranks (simulated where there are no two GPUs)
	@CUDA_HOME=$(CUDA_HOME) scripts/setup demo
	@$(SUBMAKE) demo-products
	@BUILD=$(O) scripts/demo

.PHONY: demo-products
demo-products: all examples

man: ## list the man pages
	@for m in $(MAN); do echo $$m; done

install: all ## bin, lib, headers, man pages and warptap.pc below DESTDIR and prefix (/usr/local)
	install -d $(addprefix $(DESTDIR),$(bindir) $(libdir)/simgpu/lib $(incdir)/warptap $(pcdir))
	install -m 755 $(O)/warptap $(DESTDIR)$(bindir)/warptap
	install -m 755 $(O)/libwarptap.so $(DESTDIR)$(libdir)/libwarptap.so
	cp -P $(O)/simgpu/lib/*.so* $(DESTDIR)$(libdir)/simgpu/lib/
	cp -R $(O)/simgpu/toolkit $(DESTDIR)$(libdir)/simgpu/
	for h in $(PUBLIC); do install -m 644 $$h $(DESTDIR)$(incdir)/warptap/ || exit 1; done
	for m in $(MAN); do d=$(DESTDIR)$(mandir)/man$${m##*.}; \
		install -d $$d && install -m 644 $$m $$d/ || exit 1; done
	sed -e 's|@version@|$(VERSION)|' scripts/warptap.pc.in >$(DESTDIR)$(pcdir)/warptap.pc

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(bindir)/warptap $(DESTDIR)$(pcdir)/warptap.pc
	rm -rf $(DESTDIR)$(libdir) $(DESTDIR)$(incdir)/warptap
	for m in $(MAN); do rm -f $(DESTDIR)$(mandir)/man$${m##*.}/$${m##*/}; done

dist: ## pack the committed tree as build/warptap-VERSION.tar.gz
	@mkdir -p $(O)
	git archive --prefix=warptap-$(VERSION)/ -o $(O)/warptap-$(VERSION).tar.gz HEAD
	@echo $(O)/warptap-$(VERSION).tar.gz

# What clangd and other tools ask for: the compile command of every object, as make would run it.
.PHONY: compile_commands.json
compile_commands.json: ## the compile command of each file, for editors
	@$(MAKE) --no-print-directory -nB V=1 O=$(O) all | grep -E ' -c -o .*\.c$$' | \
		python3 -c 'import json, sys; json.dump([{"directory": "$(CURDIR)", "file": c.split()[-1], \
			"command": c.strip()} for c in sys.stdin], sys.stdout, indent=1)' >$@
	@echo $@
