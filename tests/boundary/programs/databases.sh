# SPDX-License-Identifier: Apache-2.0
# needs: sqlite3
# uses: psql redis-server
# sqlite with WAL and many writers; postgres over AF_UNIX and TCP; redis.
set -e
sqlite3 a.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(n);' 
for i in $(seq 8); do
	(for j in $(seq 5); do sqlite3 -cmd '.timeout 20000' a.db "INSERT INTO t VALUES($i * 100 + $j);"; done) &
done
wait
sqlite3 a.db 'SELECT count(*), sum(n) FROM t; PRAGMA integrity_check; VACUUM;'
postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
if command -v psql >/dev/null && [ -n "$postgres" ]; then
	"$postgres/initdb" -D data -A trust -U agent >/dev/null
	echo "unix_socket_directories = '$PWD'" >>data/postgresql.conf
	"$postgres/pg_ctl" -D data -o '-p 15432' -l log -w start >/dev/null
	psql="$postgres/psql -p 15432 -U agent -At postgres"
	$psql -h "$PWD" -c 'CREATE TABLE t AS SELECT g FROM generate_series(1, 10000) g' -c 'SELECT sum(g) FROM t'
	$psql -h 127.0.0.1 -c 'SELECT count(*) FROM t' -c 'SET max_parallel_workers_per_gather = 2' -c 'SELECT max(g) FROM t'
	$psql -h "$PWD" -c 'SELECT pg_cancel_backend(pg_backend_pid())' 2>&1 | head -n 1
	"$postgres/pgbench" -p 15432 -h "$PWD" -U agent -i -q postgres >/dev/null 2>&1
	"$postgres/pgbench" -p 15432 -h "$PWD" -U agent -c 8 -j 4 -t 20 postgres 2>/dev/null | grep processed
	"$postgres/pg_dump" -p 15432 -h "$PWD" -U agent -t t postgres | wc -l
	"$postgres/pg_ctl" -D data -m fast -w stop
	grep -cE 'FATAL|PANIC' log || true
fi
if command -v redis-server >/dev/null; then
	redis-server --port 16379 --unixsocket "$PWD/redis.sock" --dir "$PWD" --daemonize yes --pidfile "$PWD/pid" --logfile "$PWD/redis.log" >/dev/null
	for _ in $(seq 1000); do [ ! -S redis.sock ] || break; sleep 0.05; done
	redis-cli -p 16379 set a 1
	redis-cli -s redis.sock incr a
	redis-cli -p 16379 bgsave
	for _ in $(seq 1000); do [ ! -f dump.rdb ] || break; sleep 0.05; done
	redis-cli -p 16379 shutdown nosave
	for _ in $(seq 1000); do [ -f pid ] || break; sleep 0.05; done
	ls dump.rdb
fi
