// Packs the agent library for the hub's /downloads/: the tarball that npm installs, its SHA-256 and a page.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tarball } from './tar.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'packages/agent');
const target = join(root, 'dist/downloads');

const {
  scripts: _scripts,
  devDependencies: _development,
  ...manifest
} = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
const name = `${manifest.name}-${manifest.version}.tgz`;

function filesOf(path) {
  const whole = join(source, path);
  if (!statSync(whole).isDirectory()) return [path];
  return readdirSync(whole, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(source.length + 1)
        .replaceAll('\\', '/'),
    );
}

const programs = new Set(Object.values(manifest.bin));
const paths = [
  'package.json',
  ...manifest.files.filter((path) => existsSync(join(source, path))).flatMap(filesOf),
];
const files = [...new Set(paths)].map((path) => {
  const bytes =
    path === 'package.json'
      ? Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
      : readFileSync(join(source, path));
  return { path: `package/${path}`, bytes, mode: programs.has(path) ? 0o755 : 0o644 };
});
const packed = tarball(files);

const digest = createHash('sha256').update(packed).digest('hex');
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Downloads · Reeve</title>
</head>
<body>
<h1>Downloads</h1>
<p>The agent library that fits this hub, for Node 20.19 or newer:</p>
<pre>npm install {BASE_URL}/downloads/${name}</pre>
<ul>
<li><a href="${name}">${name}</a> (${packed.length} bytes)</li>
<li><a href="SHA256SUMS">SHA256SUMS</a></li>
</ul>
<p>SHA-256: <code>${digest}</code></p>
<p>The guide is in the package: <code>node_modules/${manifest.name}/dist/docs/agent-guide.md</code></p>
</body>
</html>
`;

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
writeFileSync(join(target, name), packed);
writeFileSync(join(target, 'SHA256SUMS'), `${digest}  ${name}\n`);
writeFileSync(join(target, 'index.html'), page);
