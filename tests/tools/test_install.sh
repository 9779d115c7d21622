#!/bin/sh
# What is installed can be used: the tree has its files, below a DESTDIR and at another prefix, and programs
# find both libraries there by pkg-config and by CMake, shared and static.
set -eu
[ -z "${SANITIZE:-}" ] || { echo "skipped: what is installed does not depend on sanitizers, and nothing is done with it here"; exit 77; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sanitize=
[ -z "${SANITIZE:-}" ] || sanitize="-fsanitize=$SANITIZE"

fail()
{
	echo "FAILED: $*"
	exit 1
}

# quietly COMMAND...: what it prints is shown when it fails.
quietly()
{
	"$@" >"$dir/log" 2>&1 || { cat "$dir/log"; fail "$*"; }
}

cat >"$dir/libsb.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <sb/replay.h>

int main(void)
{
	struct sb_perfdata *perfdata;
	struct sb_error err;
	struct pt_version version = pt_library_version();

	if (version.major != 2 || strcmp(sb_gap_reason_name(sb_gap_overflow), "overflow"))
		return 1;
	return sb_perfdata_open(&perfdata, "/nonexistent", &err) < 0 ? 0 : 1;
}
END
cat >"$dir/libipt.c" <<'END'
#include <intel-pt.h>
#include <intel-pt-run.h>

int main(void)
{
	struct pt_version version = pt_library_version();
	struct pt_config config;

	pt_config_init(&config); /* no buffer */
	return version.major == LIBIPT_VERSION_MAJOR && version.minor == LIBIPT_VERSION_MINOR &&
	       !pt_blk_alloc_decoder(&config) && pt_blk_run(NULL, NULL, 0) == -pte_invalid ? 0 : 1;
}
END

# files_are_there ROOT PREFIX LIBRARIES: where LIBRARIES is the folder of the libraries.
files_are_there()
{
	for file in bin/sbtrace include/sb/replay.h; do
		[ -f "$1$2/$file" ] || fail "not installed: $2/$file"
	done
	for file in "$SOURCE_DIR"/libdecode/include/*.h; do
		cmp "$file" "$1$2/include/${file##*/}" || fail "not installed: ${file##*/}"
	done
	for file in "$SOURCE_DIR"/man/*.[1-9]; do
		cmp "$file" "$1$2/share/man/man${file##*.}/${file##*/}" || fail "not installed: ${file##*/}"
	done
	for file in libipt.so libipt.so.2 libipt.a libsb.so libsb.so.0 libsb.a; do
		[ -e "$3/$file" ] || fail "not installed: $3/$file"
	done
	readelf -d "$3/libipt.so" | grep -q 'soname: \[libipt\.so\.2\]' || fail "the soname is another one"
	# The executable finds its libraries in the installed tree, wherever that is.
	quietly "$1$2/bin/sbtrace" --version
}

# headers_stand_alone DIRECTORY: each one of them compiles, as C99 and, if there is a compiler, as C++11.
headers_stand_alone()
{
	for language in 'c -std=c99' 'c++ -std=c++11'; do
		# shellcheck disable=SC2086 # words
		echo 'int x;' | ${CC:-cc} -x $language -fsyntax-only - 2>/dev/null || continue
		for header in "$1"/*.h "$1"/sb/*.h; do
			printf '#include <%s>\nint x;\n' "${header#"$1"/}" >"$dir/header"
			# shellcheck disable=SC2086
			quietly ${CC:-cc} -x $language -Wall -Wextra -pedantic -Werror -fsyntax-only -I "$1" "$dir/header"
		done
	done
}

# by_pkg_config NAME PROGRAM FLAGS...: builds NAME.c and runs it; FLAGS are pkg-config's.
by_pkg_config()
{
	name=$1 program=$dir/$2
	shift 2
	# shellcheck disable=SC2046,SC2086 # words
	quietly ${CC:-cc} -Wall -Werror $sanitize "$dir/$name.c" -o "$program" \
		$(pkg-config "$@" --cflags --libs "$name") -Wl,-rpath-link,"$lib"
	LD_LIBRARY_PATH=$lib quietly "$program"
}

# by_cmake PREFIX: a project with two programs per library.
by_cmake()
{
	rm -rf "$dir/project"
	mkdir "$dir/project"
	cat >"$dir/project/CMakeLists.txt" <<-'END'
		cmake_minimum_required(VERSION 3.16)
		project(consumer C)
		find_package(libipt 2.0 REQUIRED CONFIG)
		find_package(libsb REQUIRED CONFIG)
		find_package(libipt 3 QUIET CONFIG)
		if(libipt_FOUND)
		  message(FATAL_ERROR "this is no libipt 3")
		endif()
		foreach(name libipt libsb)
		  foreach(kind "" _static)
		    add_executable(${name}${kind} ../${name}.c)
		    target_link_libraries(${name}${kind} PRIVATE ${name}::${name}${kind})
		  endforeach()
		endforeach()
	END
	quietly cmake -S "$dir/project" -B "$dir/project/build" -G Ninja "-DCMAKE_PREFIX_PATH=$1" \
		"-DCMAKE_C_COMPILER=${CC:-cc}" "-DCMAKE_C_FLAGS=$sanitize"
	quietly cmake --build "$dir/project/build"
	for program in libipt libipt_static libsb libsb_static; do
		quietly "$dir/project/build/$program"
		ldd "$dir/project/build/$program" >"$dir/ldd"
		case $program in
		*_static) ! grep -E 'libipt|libsb' "$dir/ldd" || fail "$program is not static" ;;
		*) grep -q "$1.*/$program\\.so" "$dir/ldd" || fail "$program uses another library: $(cat "$dir/ldd")" ;;
		esac
	done
}

# A tree below DESTDIR, for a package.
quietly env DESTDIR="$dir/root" cmake --install "$BUILD_DIR"
pc=$(find "$dir/root" -name libsb.pc)
[ -n "$pc" ] || fail "no libsb.pc"
lib=${pc%/pkgconfig/*}
export PKG_CONFIG_PATH="${pc%/*}"
prefix=$(pkg-config --variable=prefix libsb)
files_are_there "$dir/root" "$prefix" "$lib"
export PKG_CONFIG_SYSROOT_DIR="$dir/root"
by_pkg_config libsb shared
by_pkg_config libipt shared
unset PKG_CONFIG_SYSROOT_DIR
by_cmake "$dir/root$prefix"

# Another prefix than the one that was configured: package files follow it.
quietly cmake --install "$BUILD_DIR" --prefix "$dir/prefix"
lib=$dir/prefix${lib#"$dir/root$prefix"}
export PKG_CONFIG_PATH="$lib/pkgconfig"
files_are_there '' "$dir/prefix" "$lib"
headers_stand_alone "$dir/prefix/include"
[ "$(pkg-config --variable=prefix libipt)" = "$dir/prefix" ] || fail "libipt.pc has another prefix"
pkg-config --atleast-version=2.3 libipt || fail "libipt.pc has another version"
by_pkg_config libsb shared
by_pkg_config libipt shared
by_cmake "$dir/prefix"
rm "$lib"/lib*.so*
by_pkg_config libsb static --static
by_pkg_config libipt static --static
