# SPDX-License-Identifier: Apache-2.0
# Shared by image/quickstart, image/embedded and tests/run: packages, a Docker engine, the base image, Cordon's image.
# Sourced by bash with errexit set. Owns what it starts (an engine) and nothing else; says what it does in one line a step.

[ -n "${CORDON_ROOT:-}" ] || CORDON_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -z "${CORDON_CACHE:-}" ]; then
	CORDON_CACHE=${XDG_CACHE_HOME:-/var/cache}/cordon
fi
# What a full-tier container is created with (DESIGN.md, tiers). One list for the demonstration, the tests and the README.
FULL_TIER=(--cap-add SYS_ADMIN --cap-add SYS_PTRACE --cap-add NET_ADMIN --security-opt apparmor=unconfined)
BASE_IMAGE=debian:bookworm-slim
BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build libseccomp-dev libjansson-dev libcap-dev jq)

say() {
	printf '%s\n' "$*" >&2
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# step TEXT: a progress line with the seconds since the start, also of the script that called this one.
export CORDON_STARTED=${CORDON_STARTED:-$EPOCHSECONDS}
step() {
	printf '[%3ds] %s\n' "$((EPOCHSECONDS - CORDON_STARTED))" "$*" >&2
}

# quietly LOG COMMAND…: output goes to LOG; on failure its end is shown. On a terminal its latest line is, while it runs.
quietly() {
	local log=$1 watcher=
	shift
	mkdir -p "$(dirname "$log")"
	if [ -t 2 ]; then
		: >"$log"
		(while sleep 1; do printf '\r\033[K       %s' "$(tail -n 1 "$log" | tr -cd '[:print:]' | cut -c1-70)" >&2; done) &
		watcher=$!
	fi
	local status=0
	"$@" >"$log" 2>&1 </dev/null || status=$?
	if [ -n "$watcher" ]; then
		kill "$watcher" 2>/dev/null || true
		wait "$watcher" 2>/dev/null || true
		printf '\r\033[K' >&2
	fi
	if [ "$status" -ne 0 ]; then
		say "--- end of $log:"
		tail -n 25 "$log" >&2 || true
		say "---"
	fi
	return "$status"
}

# need_packages NAME…: installs what is missing, with apt. Nothing is asked of the network when all is there.
need_packages() {
	local package missing=()
	for package; do
		dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
	done
	[ "${#missing[@]}" -gt 0 ] || return 0
	command -v apt-get >/dev/null || die "missing packages (${missing[*]}) and no apt-get to install them: this needs Debian or Ubuntu"
	[ "$(id -u)" = 0 ] || die "missing packages: run as root, or install them yourself: apt-get install ${missing[*]}"
	step "installing ${missing[*]}"
	local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}")
	if ! "${install[@]}" >"$CORDON_CACHE/apt.log" 2>&1 </dev/null; then
		quietly "$CORDON_CACHE/apt.log" apt-get update || say "apt-get update had errors; trying the installation all the same"
		quietly "$CORDON_CACHE/apt.log" "${install[@]}" || die "could not install: ${missing[*]}"
	fi
}

# ---- Docker engine

ENGINE_PID=

engine_running() {
	command -v docker >/dev/null && timeout 10 docker info >/dev/null 2>&1
}

# Uses the engine that runs, else starts one. Returns 1 with a reason when there is none to be had. ENGINE_PID is set only for ours.
engine_start() {
	local log=$CORDON_CACHE/dockerd.log
	engine_running && return 0
	if [ -n "${DOCKER_HOST:-}" ]; then
		say "no answer from the engine at DOCKER_HOST=$DOCKER_HOST"
		return 1
	fi
	if ! command -v dockerd >/dev/null; then
		say "no Docker engine here (dockerd is not installed)"
		return 1
	fi
	if [ "$(id -u)" != 0 ]; then
		say "no Docker engine answers, and only root can start one"
		return 1
	fi
	step "starting dockerd (log: $log)"
	mkdir -p "$CORDON_CACHE"
	setsid dockerd >"$log" 2>&1 </dev/null &
	ENGINE_PID=$!
	for _ in $(seq 60); do
		engine_running && return 0
		if ! kill -0 "$ENGINE_PID" 2>/dev/null; then
			say "dockerd ended at once; the end of its log:"
			tail -n 8 "$log" >&2
			ENGINE_PID=
			return 1
		fi
		sleep 0.5
	done
	say "dockerd did not answer within 30 s; the end of its log:"
	tail -n 8 "$log" >&2
	engine_stop
	return 1
}

# Ends the engine engine_start began; another's is left alone.
engine_stop() {
	[ -n "$ENGINE_PID" ] || return 0
	kill "$ENGINE_PID" 2>/dev/null || true
	wait "$ENGINE_PID" 2>/dev/null || true
	ENGINE_PID=
}

# ---- base image: there already, or pulled, or made from Debian's archive

base_image() {
	docker image inspect "$BASE_IMAGE" >/dev/null 2>&1 && return 0
	step "fetching $BASE_IMAGE"
	if timeout 90 docker pull -q "$BASE_IMAGE" >"$CORDON_CACHE/pull.log" 2>&1; then
		return 0
	fi
	local tarball=$CORDON_CACHE/base-bookworm.tar
	if [ ! -f "$tarball" ]; then
		need_packages mmdebstrap
		step "no registry answers: making the base from Debian's archive with mmdebstrap"
		quietly "$CORDON_CACHE/mmdebstrap.log" mmdebstrap --variant=minbase --format=tar \
			--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
			--dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$tarball.part" || die "mmdebstrap failed"
		mv "$tarball.part" "$tarball" || die "cannot write $tarball"
	fi
	docker import "$tarball" "$BASE_IMAGE" >/dev/null || die "the engine did not take the base image $tarball"
}

# docker_build TAG DOCKERFILE CONTEXT [OPTION…]: with BuildKit where it is installed, else with the classic builder.
docker_build() {
	local tag=$1 dockerfile=$2 context=$3
	shift 3
	local buildkit=0
	docker buildx version >/dev/null 2>&1 && buildkit=1
	DOCKER_BUILDKIT=$buildkit docker build -t "$tag" -f "$dockerfile" "$@" "$context"
}

# cordon_image TAG: Cordon's image from this tree.
cordon_image() {
	base_image
	step "building the image $1 (the first time it downloads Debian packages)"
	quietly "$CORDON_CACHE/docker-build.log" docker_build "$1" "$CORDON_ROOT/Dockerfile" "$CORDON_ROOT"
}

# target_certificate FOLDER NAME: FOLDER/target.crt and FOLDER/target.pem (key and certificate) of a demonstration target called NAME.
target_certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=Demonstration Target" \
		-addext "subjectAltName=DNS:$2" -keyout "$1/target.key" -out "$1/target.crt" 2>/dev/null
	cat "$1/target.key" "$1/target.crt" >"$1/target.pem"
}

# trust_in_container CONTAINER CERTIFICATE: adds CERTIFICATE to the system bundle of a container that is created but does not run, as
# the maintainer of an image would for a target with a private authority: the proxy verifies whom it talks to.
trust_in_container() {
	local bundle
	bundle=$(mktemp)
	docker cp "$1:/etc/ssl/certs/ca-certificates.crt" "$bundle" >/dev/null
	cat "$2" >>"$bundle"
	docker cp "$bundle" "$1:/etc/ssl/certs/ca-certificates.crt" >/dev/null
	rm -f "$bundle"
}
