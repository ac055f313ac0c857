// Run after `npm install` changed package-lock.json: puts back the optional packages of other platforms that npm
// dropped, and leaves out the addresses of registries, so that `npm ci` works behind any registry and on any machine.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const before = JSON.parse(
  execFileSync('git', ['show', 'HEAD:package-lock.json'], { encoding: 'utf8', maxBuffer: 1 << 28 }),
);
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const { packages } = lock;
const names = new Set(
  Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {})),
);
for (const [path, entry] of Object.entries(before.packages)) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  if (!packages[path] && entry.optional && names.has(name)) packages[path] = entry;
}
for (const entry of Object.values(packages)) {
  if (!entry.link) delete entry.resolved;
}
const order = (a, b) => a.localeCompare(b, 'en');
lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => order(a, b)));
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
