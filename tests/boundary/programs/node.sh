# SPDX-License-Identifier: Apache-2.0
# needs: node npm
# Worker threads, child processes, cluster, sockets, file watching; npm install from a local tarball.
set -e
cat >all.js <<'J'
const { Worker, isMainThread, parentPort } = require("worker_threads");
const cp = require("child_process"), fs = require("fs"), net = require("net"), http = require("http"), dgram = require("dgram"), cluster = require("cluster");
if (!isMainThread) {
	parentPort.on("message", (n) => { parentPort.postMessage(n * n); });
} else if (cluster.isWorker) {
	http.createServer((q, r) => r.end("worker")).listen(18201, "127.0.0.1");
} else if (process.argv[2] === "child") {
	process.on("message", (m) => { process.send({ got: m }); process.disconnect(); });
} else (async () => {
	const once = (e, n) => new Promise((r) => e.once(n, (...a) => r(a)));
	let squares = 0;
	await Promise.all([...Array(4)].map(async () => { const w = new Worker(__filename); for (let i = 0; i < 10; i++) { w.postMessage(i); squares += (await once(w, "message"))[0]; } await w.terminate(); }));
	console.log("workers", squares);
	const f = cp.fork(__filename, ["child"]); f.send("hello"); console.log("fork", (await once(f, "message"))[0]);
	console.log("spawn", cp.spawnSync("sh", ["-c", "cat; exit 3"], { input: "in" }).status, cp.execSync("echo shell").toString().trim());
	const s = cp.spawn("sleep", ["60"], { detached: true }); process.kill(-s.pid, "SIGTERM"); console.log("group", await once(s, "exit"));
	const server = net.createServer((c) => c.pipe(c)).listen("/tmp/node.sock"); await once(server, "listening");
	const c = net.connect("/tmp/node.sock"); c.write("unix"); console.log((await once(c, "data"))[0].toString()); c.destroy(); server.close();
	const u = dgram.createSocket("udp4"); u.bind(0, "127.0.0.1"); await once(u, "listening"); const v = dgram.createSocket("udp4");
	v.send("udp", u.address().port, "127.0.0.1"); console.log((await once(u, "message"))[0].toString()); u.close(); v.close();
	const r = net.connect(1, "127.0.0.1"); console.log((await once(r, "error"))[0].code);
	fs.mkdirSync("watched"); const w = fs.watch("watched"); setTimeout(() => fs.writeFileSync("watched/file", "x"), 20); console.log("watch", (await once(w, "change"))[1]); w.close();
	fs.mkdirSync("a/b/c", { recursive: true }); fs.mkdirSync("/usr/lib", { recursive: true }); fs.rmSync("a", { recursive: true }); console.log(fs.existsSync("a"));
	const workers = [cluster.fork(), cluster.fork()]; await Promise.all(workers.map((x) => once(x, "listening")));
	const body = await new Promise((ok) => http.get("http://127.0.0.1:18201/", (r) => r.on("data", (d) => ok(d.toString()))));
	console.log("cluster", body); workers.forEach((x) => x.kill()); await Promise.all(workers.map((x) => once(x, "exit")));
	fs.symlinkSync("all.js", "link"); console.log(fs.readlinkSync("link"), (await fs.promises.stat("link")).isFile());
	process.on("SIGUSR2", () => { console.log("signal"); process.exit(7); }); process.kill(process.pid, "SIGUSR2"); setTimeout(() => {}, 10000);
})();
J
node all.js || echo "exit $?"
mkdir package
printf '{"name":"packed","version":"1.0.0","main":"i.js","bin":{"packed":"i.js"},"scripts":{"postinstall":"node -e \\"require(%sfs%s).writeFileSync(%sran%s,%syes%s)\\""}}' \' \' \' \' \' \' >package/package.json
printf '#!/usr/bin/env node\nconsole.log("from the package");\n' >package/i.js
export npm_config_update_notifier=false npm_config_cache=$PWD/cache npm_config_audit=false npm_config_fund=false
(cd package && npm pack --silent)
mkdir project
cd project
npm init -y >/dev/null
npm install --silent --offline ../package/packed-1.0.0.tgz
cat node_modules/packed/ran
echo
node -e 'require("packed")'
npx --offline packed
npm ls --omit=dev | tail -n +2
