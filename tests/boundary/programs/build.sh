# SPDX-License-Identifier: Apache-2.0
# needs: make gcc
# uses: clang ninja cmake musl-gcc
# A C tree by make -j16, by clang, by cmake with ninja and with make, static and with a sanitizer.
set -e
for i in $(seq 30); do echo "int f$i(int x) { return x * $i; }" >"f$i.c"; done
{
	for i in $(seq 30); do echo "int f$i(int);"; done
	printf '#include <stdio.h>\nint main(void) { int s = 0;\n'
	for i in $(seq 30); do echo "s += f$i($i);"; done
	printf 'printf("%%d\\n", s); return 0; }\n'
} >main.c
printf 'prog: $(patsubst %%.c,%%.o,$(wildcard *.c))\n\t$(CC) -o $@ $^\n%%.o: %%.c\n\t$(CC) -O1 -c -o $@ $<\nclean:\n\trm -f *.o prog\n' >Makefile
make -s -j16
./prog
sha256sum prog
make -s clean
if command -v clang >/dev/null; then
	make -s -j16 CC=clang
	./prog
fi
if command -v ninja >/dev/null && command -v cmake >/dev/null; then
	printf 'cmake_minimum_required(VERSION 3.18)\nproject(p C)\nfile(GLOB s *.c)\nadd_executable(built ${s})\nenable_testing()\nadd_test(t built)\n' >CMakeLists.txt
	cmake -G Ninja -S . -B by-ninja >/dev/null
	ninja -C by-ninja >/dev/null
	by-ninja/built
	(cd by-ninja && ctest 2>&1 | grep -c Passed)
	cmake -S . -B by-make >/dev/null
	make -s -C by-make -j8 >/dev/null
	by-make/built
fi
gcc -static -o static main.c f*.c
./static
! command -v musl-gcc >/dev/null || { musl-gcc -static -o musl main.c f*.c && ./musl; }
gcc -g -fsanitize=address,undefined -o sanitized main.c f*.c
ASAN_OPTIONS=detect_leaks=0 ./sanitized
