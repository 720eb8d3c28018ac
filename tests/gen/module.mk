# SPDX-License-Identifier: Apache-2.0
# Programs that make inputs for tests.
$(O)/tests/gen/gen_wt: tests/gen/gen_wt.c $(O)/libwt_proto.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(INC) -Itests $(LDFLAGS) -o $@ $< $(O)/libwt_proto.a -lprotobuf-c -lzstd

$(O)/tests/gen/gen_scene: tests/gen/gen_scene.c $(O)/libwt_proto.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(INC) -Ianalyzer -Itests $(LDFLAGS) -o $@ $< $(O)/libwt_proto.a -lprotobuf-c -lzstd

TEST_PROGRAMS += $(O)/tests/gen/gen_wt $(O)/tests/gen/gen_scene
