#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# SIGKILL at a random moment under load, at every level: no call that had returned is lost from the recovered trace,
# none is in it twice, all have their names. Recovery changes nothing before it is done, and done twice it is done once;
# a report makes it by itself.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
kills=${KILLS:-20}
export WARPTAP_CONTROL_DIR=$dir/control WARPTAP_BUDGET=0 WARPTAP_SKEW_US=0 PYTHONDONTWRITEBYTECODE=1
die() { echo "FAIL: $*"; exit 1; }
RANDOM=${SEED:-$$}
echo "seed ${SEED:-$$}"

modes=("trace threads=4" "api threads=4 rate=20000" "trace threads=3 collective=20 rate=5000"
	"trace threads=2 step=50 rate=10000" "windows threads=3 rate=5000")
tried=0 void=0
for ((n = 0; n < kills; n++)); do
	read -r level words <<<"${modes[n % ${#modes[@]}]}"
	rm -rf "$dir/t" "$dir/w"; rm -f "$dir/told"; : >"$dir/out"
	vars=() some=
	[ $level != windows ] || { vars=(WARPTAP_WINDOW_EVERY=300ms WARPTAP_WINDOW_FOR=100ms); some=some; level=trace; }
	env "${vars[@]}" "$build/warptap" run -q --level $level --sim h100 -o "$dir/t" -- "$build/tests/cli/steady" \
		seconds=60 tell="$dir/told" id="$dir/id" $words >"$dir/out" 2>"$dir/err" &
	runner=$!
	for ((i = 0; i < 600; i++)); do
		pid=$(sed -n 's/^ready //p' "$dir/out")
		[ -z "$pid" ] || [ ! -s "$(echo "$dir"/t/*.wt)" ] || break
		sleep 0.05
	done
	[ -n "$pid" ] || die "the job does not begin: $(cat "$dir/err")"
	sleep $((RANDOM % 2)).$(printf %03d $((RANDOM % 1000)))
	kill -9 "$pid"
	{ wait $runner && die "the run hides the kill"; } 2>/dev/null
	rm -f "$dir/id"
	wt=$(echo "$dir"/t/*.wt) ring=${wt%.wt}.ring
	[ -s "$wt" ] && [ -s "$ring" ] || die "no trace, or no black box"
	cp -r "$dir/t" "$dir/w"
	before=$(sha256sum <"$wt")
	"$build/warptap" recover -q -k -o "$dir/whole.wt" "$ring" || die "not recovered"
	[ "$before" = "$(sha256sum <"$wt")" ] && [ -e "$ring" ] || die "-o has changed its input"
	"$build/warptap" recover "$dir/t" >"$dir/said" || die "not recovered: $(cat "$dir/said")"
	cat "$dir/said"
	[ ! -e "$ring" ] || die "the box is still there"
	cmp "$wt" "$dir/whole.wt" || die "two recoveries differ"
	[ "$(ls "$dir/t" | grep -c part)" = 0 ] || die "something is left behind"
	rc=0; python3 tests/cli/recover_check.py "$wt" "$dir/told" $some || rc=$?
	rm -f "$dir/whole.wt"
	if [ $rc = 5 ] && [ $void -lt $((2 + kills / 10)) ]; then # a machine with too much to do: once more
		void=$((void + 1)) n=$((n - 1)); continue
	fi
	[ $rc = 0 ] || die "kill $n ($words, seed ${SEED:-$$}): see above"
	[ $n -lt 5 ] || continue
	# again, with a box that came back: as before
	cp "$dir/w/$(basename "$ring")" "$ring"
	before=$(sha256sum <"$wt")
	"$build/warptap" recover "$ring" | grep -q 'whole already' || die "a second recovery adds something"
	[ "$before" = "$(sha256sum <"$wt")" ] && [ ! -e "$ring" ] || die "a second recovery has changed the trace"
	for d in t w; do
		rc=0; (cd "$dir/$d" && "$build/warptap" report --json . >"$dir/$d.json") || rc=$?
		[ $rc = 3 ] || die "report of a killed job: exit $rc"
	done
	cmp "$dir/t.json" "$dir/w.json" || die "a report by itself differs from one after recovery"
	[ -e "$dir/w/$(basename "$ring")" ] || die "a report has removed the box"
	tried=$((tried + 1))
done
[ $tried -gt 0 ]

# Decisions, too: the disk takes longer than the job lives, which dies with the last ones in nobody's file.
rm -rf "$dir/t"; : >"$dir/out"
env SLOW_MS=20000 LD_PRELOAD="$build/tests/cli/libslow_write.so" "$build/warptap" run -q --level off --sim h100 -o "$dir/t" -- \
	"$build/tests/cli/steady" seconds=60 >"$dir/out" 2>"$dir/err" & runner=$!
for ((i = 0; i < 600; i++)); do
	pid=$(sed -n 's/^ready //p' "$dir/out")
	[ -z "$pid" ] || ! "$build/warptap" attach "$pid" level count >/dev/null 2>&1 || break
	sleep 0.05
done
"$build/warptap" attach "$pid" level api >/dev/null || die "no answer" # it was decided when that is back
kill -9 "$pid"
{ wait $runner && die "the run hides the kill"; } 2>/dev/null
states() { "$build/warptap" info --packets "$@" | sed -n 's/.* state .*level=\([0-9]\).*reason=STATE_REASON_\([A-Z]*\).*/\1\2/p' | xargs; }
cp "$dir"/t/*.wt "$dir/alone.wt" # without its box, which would complete it
before=$(states "$dir/alone.wt" 2>/dev/null || :)
"$build/warptap" recover -q "$dir/t" || die "not recovered"
after=$(states "$(echo "$dir"/t/*.wt)")
echo "states: $before; recovered: $after"
[ "$after" = "0START 1COMMAND 2COMMAND" ] || die "decisions are lost, or twice"
[ "$before" != "$after" ] || die "nothing was tested"
"$build/warptap" recover "$dir/t" | grep -q 'nothing to recover' || die "a box where none is"
