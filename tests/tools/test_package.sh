#!/bin/sh
# A node needs one file: the package is built from a clean copy of the tree, lintian has nothing to say, and on a clean
# root (debootstrap) it installs, replays a recording as the build does, gets along with Debian's libipt2 and
# libipt-dev, and goes without a trace. The clean root is kept in $BUILD_DIR for the next time.
set -u

skip()
{
	echo "skipped: $*"
	exit 77
}

[ -z "${SANITIZE:-}" ] || skip "the package is built without sanitizers, whatever the build is"
[ "$(id -u)" = 0 ] || skip "a clean root can only be made by root"
for tool in dpkg-buildpackage dh lintian debootstrap zstd; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done
unshare --mount true 2>/dev/null || skip "no mounts can be made here"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(SITE)' 'Identifier: Packages' "Release: $suite" | head -n 1)
[ -n "$mirror" ] || skip "apt knows of no mirror that has $suite: apt-get update"
. "$SOURCE_DIR/tests/tools/recordings.sh"
root=$dir/root
cache=$BUILD_DIR/clean-root.tar.zst

give_up()
{
	fail "$*"
	exit 1
}

# quietly COMMAND...: what it prints is shown when it fails.
quietly()
{
	"$@" >"$dir/log" 2>&1 </dev/null || { tail -n 40 "$dir/log"; give_up "$*"; }
}

# in_root COMMAND...: with a /proc, which goes when the command has ended, whatever becomes of this script.
in_root()
{
	LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --mount \
		sh -c 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}

install_in_root()
{
	quietly in_root apt-get install -y -q --no-install-recommends "$@"
}

# ---- The package -------------------------------------------------------------------------------------------------

mkdir -p "$dir/tree/sbtrace" "$root"
(cd "$SOURCE_DIR" && tar c --exclude='./build*' --exclude=./.git .) | tar x -C "$dir/tree/sbtrace"
cd "$dir/tree/sbtrace" || exit 1
# Nobody measures this one: not optimised, and with little of what is stripped anyway, it is built in half of the time.
quietly env DEB_BUILD_OPTIONS='nocheck noautodbgsym noopt parallel=2' DEB_CFLAGS_APPEND=-g1 dpkg-buildpackage -us -uc -b
cd "$dir" || exit 1
grep -E '^dpkg-[a-z]*: warning|^dh_[a-z]*: warning' "$dir/log" && fail "the package is built with warnings"
lintian --fail-on error,warning "$dir"/tree/*.changes >"$dir/lintian" 2>/dev/null || fail "lintian ends with $?"
[ ! -s "$dir/lintian" ] || { cat "$dir/lintian"; fail "lintian has something to say"; }
package=$(echo "$dir"/tree/sbtrace_*.deb)
dpkg-deb -f "$package" Depends | grep -q libipt && fail "the package needs Debian's libipt2"
dpkg-deb -c "$package" | awk '{ print $6 }' >"$dir/contents"
for file in usr/bin/sbtrace usr/share/man/man1/sbtrace-job.1.gz usr/share/man/man5/sbtrace-job.5.gz \
	usr/share/doc/sbtrace/copyright usr/share/doc/sbtrace/examples/nightly.yaml; do
	grep -qx "./$file" "$dir/contents" || fail "the package has no $file"
done

# ---- The clean root ----------------------------------------------------------------------------------------------

if ! { [ -f "$cache" ] && zstd -dcq "$cache" | tar x -C "$root"; }; then
	rm -rf "$root"
	debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$dir/log" 2>&1 || {
		tail -n 3 "$dir/log"
		skip "debootstrap made no clean root"
	}
	in_root apt-get update -q >"$dir/log" 2>&1 || skip "no mirror"
	cp "$package" "$root/sbtrace.deb"
	install_in_root --download-only /sbtrace.deb libipt-dev
	rm "$root/sbtrace.deb"
	tar c -C "$root" . | zstd -q -3 >"$cache.$$" && mv "$cache.$$" "$cache"
fi

# What is on the root, but for what apt and dpkg note down.
files_of_root()
{
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./var/log -o -path ./var/cache -o \
		-path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./etc/ld.so.cache \) -prune -o -print | sort)
}

# ---- Installed, used, removed ------------------------------------------------------------------------------------

record small -c 2 -- sh -c 'ls / | sort' || exit 1
mkdir "$root/recording"
cp "$dir/small.data" "$root/recording/perf.data"
cp -r "$dir/small.root" "$root/recording/root"
"$SBTRACE" replay --root "$dir/small.root" --no-host-root --sink insn "$dir/small.data" >"$dir/expected" ||
	give_up "the build does not replay"
[ -s "$dir/expected" ] || give_up "the recording is empty"

# runs WHEN: the packaged sbtrace prints the same as the one that was built, with the libraries that are its own.
runs()
{
	in_root sbtrace replay --root /recording/root --no-host-root --sink insn /recording/perf.data \
		>"$dir/output" 2>"$dir/log" || { cat "$dir/log"; fail "$1: sbtrace replay"; }
	cmp "$dir/expected" "$dir/output" || fail "$1: another output"
	in_root ldd /usr/bin/sbtrace >"$dir/ldd"
	for library in libsb.so.0 libipt.so.2; do
		grep -Eq "$library => /usr/.*/sbtrace/$library" "$dir/ldd" || fail "$1: whose $library? $(cat "$dir/ldd")"
	done
}

files_of_root >"$dir/before"
cp "$package" "$root/sbtrace.deb"
install_in_root /sbtrace.deb
rm "$root/sbtrace.deb"
runs "alone"
in_root ldconfig -p | grep -E 'libipt|libsb' && fail "other programs would get the package's libraries"
in_root sh -c 'sbtrace --version && sbtrace job --help' >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
for job in "$root"/usr/share/doc/sbtrace/examples/*.yaml; do
	[ -s "$job" ] || fail "no examples"
done
install_in_root libipt-dev
runs "beside libipt2"
in_root ldconfig -p | grep -q 'libipt.so.2 .*=> /lib/.*-gnu/libipt.so.2' || fail "libipt2 is not to be found any more"

quietly in_root apt-get purge -y -q sbtrace libipt-dev
quietly in_root apt-get autoremove -y -q --purge
files_of_root >"$dir/after"
diff "$dir/before" "$dir/after" || fail "the root is not as it was before"

[ $failures = 0 ] && echo "$(wc -c <"$package") bytes: built, lintian clean, installed, run, removed"
exit $failures
