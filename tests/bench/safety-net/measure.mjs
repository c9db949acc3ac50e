// SPDX-License-Identifier: Apache-2.0
// The same figures as decisions.c for cc-safety-net, by its library interface: node measure.mjs MODULES ROUNDS FILE
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [modules, rounds, file] = process.argv.slice(2);
const { checkCommand } = await import(pathToFileURL(`${modules}/cc-safety-net/dist/api.js`));
const lines = readFileSync(file).toString().split('\0').filter((line) => line);
const verdicts = { allow: 0, deny: 0 };
const medians = [];

for (const command of lines.slice(0, 200)) checkCommand({ command, cwd: '/tmp' });
for (const command of lines) {
	const samples = [];
	for (let round = 0; round < Number(rounds); round++) {
		const begun = process.hrtime.bigint();
		const { kind } = checkCommand({ command, cwd: '/tmp' });
		samples.push(Number(process.hrtime.bigint() - begun) / 1e3);
		if (round === 0) verdicts[kind]++;
	}
	medians.push(samples.sort((a, b) => a - b)[samples.length >> 1]);
}
const all = medians.reduce((sum, value) => sum + value, 0);
medians.sort((a, b) => a - b);
console.log(JSON.stringify({
	lines: lines.length, rounds: Number(rounds), verdicts,
	safety_net: { median_us: medians[lines.length >> 1], p99_us: medians[Math.floor(lines.length * 0.99)], max_us: medians.at(-1), per_second: lines.length * 1e6 / all },
}));
