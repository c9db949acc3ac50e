#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The proxy really intercepts: what agents' programs see is signed by a CA made at this start, and they trust it.
. "$(dirname "$0")/lib.sh"
# Two targets: one whose authority the image trusts, one whose it does not.
target() {	# CONTAINER NAME: started; its certificate in WORK/NAME
	mkdir "$WORK/$2"
	target_certificate "$WORK/$2" "$2"
	run_container "$1" --entrypoint /bin/sh -e TARGET_PEM="$(cat "$WORK/$2/target.pem")" -- -c "$(cat "$CORDON_ROOT/image/demo-target")" demo-target 8443
	address=$(docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$1")
	wait_until 60 bash -c "exec 3<>/dev/tcp/$address/8443" || bail "the target stands" "$(docker logs "$1" 2>&1 | tail -n 5)"
}
target "$RUN-target" target.test
trusted=$address
target "$RUN-stranger" stranger.test
CONTAINERS+=("$GUARDED")
docker create --name "$GUARDED" "${FULL_TIER[@]}" -e CORDON_MODE=guarded --add-host "target.test:$trusted" --add-host "stranger.test:$address" \
	--entrypoint /usr/bin/cordond "$IMAGE" init --unreviewed allow -- >/dev/null
trust_in_container "$GUARDED" "$WORK/target.test/target.crt"
docker start "$GUARDED" >/dev/null
wait_until 100 healthy "$GUARDED" || bail "ready" "$(docker logs --tail 20 "$GUARDED" 2>&1)"

agent() { docker exec "$GUARDED" "$@"; }
seen=$(agent curl -sSv https://target.test:8443/ 2>&1)
matches "curl gets the page" 'hello from the target' "$seen"
matches "with a certificate of Cordon's CA" 'issuer: .*Cordon' "$seen"
equal "Python gets it" "hello from the target" "$(agent python3 -c 'import urllib.request; print(urllib.request.urlopen("https://target.test:8443/").read().decode().strip())' 2>&1)"
matches "git gets it" 'refs/heads/main' "$(agent git ls-remote https://target.test:8443/repo.git 2>&1)"
matches "also inside a login shell" 'hello from the target' "$(agent bash -lc 'curl -sS https://target.test:8443/' 2>&1)"
check "the target's own certificate is not what they saw" bash -c "! grep -q 'issuer: CN=Demonstration Target' <<<'${seen//\'/}'"
matches "a server nobody vouches for is not passed on as good" '50[0-9]' "$(agent curl -s -o /dev/null -w '%{http_code}' https://stranger.test:8443/ 2>&1)"

ca=$(host 'openssl x509 -in /etc/cordon/trust/ca.pem -noout -fingerprint -sha256')
matches "the CA is a file agents can read" 'BEGIN CERTIFICATE' "$(agent cat /etc/cordon/trust/ca.pem)"
equal "its key is not" "" "$(agent sh -c 'cat /run/cordon-ca/* 2>/dev/null')"
equal "the key is the proxy's user's only" "" "$(host 'find /run/cordon-ca -type f ! -user cordon-proxy -perm /077 2>/dev/null; find /run/cordon-ca -type f -name "*key*" -perm /077; find /run/cordon-ca -type f -name "mitmproxy-ca.pem" -perm /077')"
earlier=$(host 'sed -n 3p /etc/cordon/trust/ca.pem')
certificates=$(host 'grep -c "BEGIN CERTIFICATE" /etc/ssl/certs/ca-certificates.crt')
docker restart -t 10 "$GUARDED" >/dev/null
wait_until 100 healthy "$GUARDED" || bail "ready after a restart" "$(docker logs --tail 20 "$GUARDED" 2>&1)"
check "a restart makes another CA" [ "$ca" != "$(host 'openssl x509 -in /etc/cordon/trust/ca.pem -noout -fingerprint -sha256')" ]
matches "which is trusted" 'hello from the target' "$(agent curl -sS https://target.test:8443/ 2>&1)"
body='sed -n 3p /etc/cordon/trust/ca.pem'
equal "which the system's bundle holds once" 1 "$(host "grep -cF -- \"\$($body)\" /etc/ssl/certs/ca-certificates.crt")"
equal "and the earlier one no more" 0 "$(host "grep -cF -- '$earlier' /etc/ssl/certs/ca-certificates.crt")"
equal "nor are there more certificates than before" "$certificates" "$(host 'grep -c "BEGIN CERTIFICATE" /etc/ssl/certs/ca-certificates.crt')"

# The proxy dies: it is started again, and until then nothing goes around it.
host 'pkill -KILL -u cordon-proxy'
wait_until 60 bash -c "docker exec $GUARDED curl -sS --max-time 5 https://target.test:8443/ | grep -q hello"
equal "a killed proxy comes back" 0 $?
