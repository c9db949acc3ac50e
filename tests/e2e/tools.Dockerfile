# SPDX-License-Identifier: Apache-2.0
# Cordon's image with real programs in it, only for the tests that compare them with and without Cordon.
ARG BASE=cordon:test
FROM ${BASE}
# By absolute path and with a PATH of its own: the image's PATH leads to the entry links, and no supervisor runs during a build.
RUN ["/usr/bin/env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "/bin/sh", "-c", \
     "apt-get update && apt-get install -y --no-install-recommends nmap nodejs gcc libc6-dev make && rm -rf /var/lib/apt/lists/*"]
