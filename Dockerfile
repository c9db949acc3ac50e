# SPDX-License-Identifier: Apache-2.0
# Cordon's image, and the recipe for putting Cordon into another one. Works with the classic builder and with BuildKit.
#
#   docker build -t cordon .                                            Debian 12
#   docker build -t my/guarded --build-arg BASE=kalilinux/kali-rolling .   any image with apt as the base
#   docker build -t cordon-files --target files .                       only the files, for COPY --from in your own Dockerfile (README)

ARG BASE=debian:bookworm-slim
ARG BUILD_BASE=debian:bookworm-slim

# ---- compile; nothing of this stage but /out is kept
FROM ${BUILD_BASE} AS build
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
	gcc libc6-dev cmake ninja-build libseccomp-dev libjansson-dev libcap-dev jq \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY CMakeLists.txt CMakePresets.json ./
COPY supervisor supervisor
COPY shim shim
RUN cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr && cmake --build --preset release
# Policies, pages and scripts change more often than the programs do; configured again so that new pages are seen.
COPY policies policies
COPY image image
COPY docs docs
RUN cmake --preset release && DESTDIR=/out cmake --install build/release --strip

# ---- the finished tree: /usr/bin/cordon, /usr/bin/cordond, /usr/lib/cordon, /etc/cordon/policies, man pages, completion
FROM scratch AS files
COPY --from=build /out/ /

# ---- the image
FROM ${BASE} AS final
USER root
# Packages and users come before the binaries, so that a rebuild of Cordon does not download anything again.
COPY image/prepare-image /usr/lib/cordon/prepare-image
RUN ["/bin/sh", "/usr/lib/cordon/prepare-image", "curl", "git", "procps"]
COPY --from=files / /
WORKDIR /workspace
HEALTHCHECK --interval=10s --timeout=3s --start-period=90s --retries=3 CMD ["/usr/bin/cordon", "health"]
ENTRYPOINT ["/usr/bin/cordond", "init", "--"]
CMD []
# Last on purpose: from here on a RUN line would meet the entry links instead of the programs, and no supervisor runs during a build.
ENV PATH=/usr/lib/cordon/entry:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
