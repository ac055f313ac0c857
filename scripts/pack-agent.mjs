// Packs the agent library for the hub's /downloads/: the tarball that npm installs, its SHA-256 and a page. Equal files
// give an equal tarball: names are sorted, and times and owners are fixed.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'packages/agent');
const target = join(root, 'dist/downloads');
/** 1985-10-26T08:15:00Z, as npm writes it: older times are odd to some tools. */
const time = 499_162_500;

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

/** One field of a header: text, or a number in octal digits. */
const text = (value, length) => Buffer.from(value.padEnd(length, '\0'), 'latin1');
const octal = (value, length) => text(value.toString(8).padStart(length - 1, '0'), length);

/** A file in the format ustar (POSIX.1-1988). */
function entry(path, bytes, mode) {
  const whole = `package/${path}`;
  const cut = whole.length > 100 ? whole.indexOf('/', whole.length - 101) : -1;
  const [prefix, rest] = cut < 0 ? ['', whole] : [whole.slice(0, cut), whole.slice(cut + 1)];
  const fields = (sum) =>
    Buffer.concat([
      text(rest, 100),
      octal(mode, 8),
      octal(0, 8),
      octal(0, 8),
      octal(bytes.length, 12),
      octal(time, 12),
      sum,
      text('0', 1),
      text('', 100),
      text('ustar', 6),
      text('00', 2),
      text('', 32),
      text('', 32),
      text('', 8),
      text('', 8),
      text(prefix, 155),
      text('', 12),
    ]);
  const sum = fields(Buffer.alloc(8, ' ')).reduce((total, byte) => total + byte, 0);
  const header = fields(Buffer.from(`${sum.toString(8).padStart(6, '0')}\0 `, 'latin1'));
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

const programs = new Set(Object.values(manifest.bin));
const paths = [
  'package.json',
  ...manifest.files.filter((path) => existsSync(join(source, path))).flatMap(filesOf),
];
const entries = [...new Set(paths)].sort().map((path) => {
  const bytes =
    path === 'package.json'
      ? Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
      : readFileSync(join(source, path));
  return entry(path, bytes, programs.has(path) ? 0o755 : 0o644);
});
const tarball = gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]), { level: 9 });
// The byte that names the system which packed it: unknown.
tarball[9] = 255;

const digest = createHash('sha256').update(tarball).digest('hex');
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
<li><a href="${name}">${name}</a> (${tarball.length} bytes)</li>
<li><a href="SHA256SUMS">SHA256SUMS</a></li>
</ul>
<p>SHA-256: <code>${digest}</code></p>
<p>The guide is in the package: <code>node_modules/${manifest.name}/dist/docs/agent-guide.md</code></p>
</body>
</html>
`;

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
writeFileSync(join(target, name), tarball);
writeFileSync(join(target, 'SHA256SUMS'), `${digest}  ${name}\n`);
writeFileSync(join(target, 'index.html'), page);
