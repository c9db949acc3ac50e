#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cordon in an image that is not ours: other users, the files taken with COPY --from as the README says.
. "$(dirname "$0")/lib.sh"

IMAGES=("$RUN-base" "$RUN-files")
docker_build "$RUN-files" "$CORDON_ROOT/Dockerfile" "$CORDON_ROOT" --target files >"$WORK/build.log" 2>&1 || bail "the files stage builds" "$(tail -n 20 "$WORK/build.log")"
# Packages come from the image under test, so that nothing is downloaded; its Cordon and its users are taken out first.
cat >"$WORK/Dockerfile" <<DOCKERFILE
FROM $IMAGE AS existing
RUN ["/usr/bin/env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "/bin/sh", "-c", "userdel -r agent; userdel cordon-proxy; rm -rf /usr/bin/cordon* /usr/lib/cordon /etc/cordon /var/lib/cordon /workspace; useradd -m -u 1000 -s /bin/bash pentester"]
FROM scratch
COPY --from=existing / /
COPY --from=$RUN-files / /
RUN ["/bin/sh", "/usr/lib/cordon/prepare-image"]
ENTRYPOINT ["/usr/bin/cordond", "init", "--"]
ENV PATH=/usr/lib/cordon/entry:$PLAIN_PATH
WORKDIR /workspace
DOCKERFILE
docker_build "$RUN-base" "$WORK/Dockerfile" "$WORK" >"$WORK/build.log" 2>&1 || bail "the README's recipe builds" "$(tail -n 20 "$WORK/build.log")"
IMAGE=$RUN-base
start_guarded
equal "agents are the user agent" agent "$(docker exec "$GUARDED" sh -c "id -un")"
check "beside the image's own user 1000" [ "$(docker exec "$GUARDED" sh -c "id -u")" -ne 1000 ]
check "who can work" docker exec "$GUARDED" sh -c 'echo x > /workspace/x && cat /workspace/x'
refused "and is guarded" rm /workspace/x
docker rm -f "$GUARDED" >/dev/null

# An image's own user as launch_user.
CONTAINERS+=("$GUARDED")
docker create --name "$GUARDED" "${FULL_TIER[@]}" -e CORDON_MODE=guarded --entrypoint /usr/bin/cordond "$IMAGE" init --unreviewed allow -- >/dev/null
docker cp "$GUARDED:/etc/cordon/policies/policy.json" "$WORK/policy.json" >/dev/null
sed -i 's/"launch_user": "agent"/"launch_user": "pentester"/' "$WORK/policy.json"
docker cp "$WORK/policy.json" "$GUARDED:/etc/cordon/policies/policy.json" >/dev/null
docker start "$GUARDED" >/dev/null
wait_until 100 healthy "$GUARDED" || bail "ready with another launch user" "$(docker logs --tail 20 "$GUARDED" 2>&1)"
equal "launch_user names the image's user" pentester "$(docker exec "$GUARDED" sh -c "id -un")"
equal "with its home" /home/pentester "$(docker exec "$GUARDED" sh -c 'echo $HOME')"
