# SPDX-License-Identifier: Apache-2.0
# The analyzer: everything but the command itself is one archive, which the unit tests link too.
AN_SRC  := $(sort $(wildcard $(foreach d,base trace import timeline bounds ledger axes ranks report,analyzer/$(d)/*.c)))
AN_GEN  := $(O)/analyzer/ledger/families_table.c $(O)/analyzer/bounds/parts_table.c
AN_OBJS := $(call objs,$(AN_SRC)) $(AN_GEN:.c=.o)
CMD_SRC := analyzer/warptap.c $(sort $(wildcard analyzer/cmd/*.c))
CMD_OBJS := $(call objs,$(CMD_SRC))

$(AN_OBJS) $(CMD_OBJS): MODINC := -Ianalyzer
# Called only where the processor is of this kind (kineto_layout.c).
ifeq ($(shell uname -m),x86_64)
$(O)/analyzer/import/kineto_layout_wide.o: OPT += -march=x86-64-v4
endif
# The reader includes generated code: it must exist before the first compile, afterwards the .d files know.
$(AN_OBJS) $(CMD_OBJS): | $(O)/proto/trace.pb-c.h

$(O)/analyzer/ledger/families_table.c: analyzer/ledger/families.tsv scripts/families-to-c
	@mkdir -p $(@D)
	$(Q)scripts/families-to-c $< >$@

PARTS := $(addprefix analyzer/bounds/,parts.tsv part_cells.tsv part_sources.tsv cells.def)
$(O)/analyzer/bounds/parts_table.c: $(PARTS) scripts/parts-to-c
	@mkdir -p $(@D)
	$(Q)scripts/parts-to-c $(PARTS) >$@

# What reads events and books them is compiled once more for the command, as one unit: a report of a small trace takes a
# tenth less. Tests link the archive. Not where a sanitizer or a debugger looks, nor where the compiler cannot do it.
UNIT_O := $(if $(SAN)$(DEBUG),,$(if $(shell $(CC) -v 2>&1 | grep '^gcc version'),$(O)/analyzer/unit.o))
ifneq ($(UNIT_O),)
UNIT_OBJS := $(call objs,$(sort $(wildcard $(addprefix analyzer/,$(addsuffix .c,\
	base/* timeline/* ledger/* bounds/* import/json_* import/kineto_* import/import_kineto import/decimal))))) \
	$(AN_GEN:.c=.o)
$(UNIT_OBJS): OPT += -O3 -flto -ffat-lto-objects
$(UNIT_O): $(UNIT_OBJS)
	$(if $(filter 0,$(V)),@echo "  LTO   $@")
	$(Q)$(CC) $(filter-out -M%,$(CFLAGS)) -O3 -flto=2 -r -flinker-output=nolto-rel -o $@ $^
endif

# Recovery packs rows with the recorder's code: of libwt_agent.a come in only the members that do that. Its archive
# comes before, with stubs for the rest. Apart from libwt_analyzer.a, which unit tests of the agent link too.
RE_OBJS := $(call objs,$(sort $(wildcard analyzer/recover/*.c)))
$(RE_OBJS): MODINC := -Ianalyzer -Iagent -I$(CUDA_INC) -I$(CUPTI_INC)
$(RE_OBJS): | $(O)/proto/trace.pb-c.h

$(O)/libwt_recover.a: $(RE_OBJS)
	$(Q)rm -f $@ && ar rcs $@ $^

# What everything that uses the analyzer links besides.
AN_LINK := -liberty -lprotobuf-c -lzstd -lisal -lsqlite3 -lpthread -lm
# The command's own, archives where there are such: a library that has to be found, mapped and relocated takes a
# hundredth of a small report's time.
archive = $(if $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
CMD_LINK := -liberty $(foreach lib,protobuf-c zstd sqlite3,$(call archive,$(lib))) -lisal -lpthread -lm

$(O)/libwt_analyzer.a: $(AN_OBJS)
	$(Q)rm -f $@ && ar rcs $@ $^

$(O)/warptap: $(CMD_OBJS) $(UNIT_O) $(O)/libwt_recover.a $(O)/libwt_analyzer.a $(O)/libwt_agent.a $(O)/libwt_proto.a
	$(if $(filter 0,$(V)),@echo "  LD    $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(CMD_OBJS) $(UNIT_O) -Wl,--start-group $(O)/libwt_recover.a $(O)/libwt_analyzer.a $(O)/libwt_agent.a $(O)/libwt_proto.a -Wl,--end-group \
		$(CMD_LINK)

ALL += $(O)/warptap
