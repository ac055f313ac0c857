// Builds the web console into dist/dashboard and compresses each file (`.br`, `.gz`); does nothing when what it is made
// of did not change.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const folder = 'dist/dashboard';
const stamp = join(folder, '.inputs');
const inputs = [
  'src/dashboard',
  ...readdirSync('src')
    .filter((name) => !name.includes('.') && !['dashboard', 'http', 'hub'].includes(name))
    .map((name) => `src/${name}`),
  'packages/agent/src/console/generated',
  'packages/agent/src/rules',
  'packages/agent/src/evidence',
  'package-lock.json',
  'scripts/build-dashboard.mjs',
];

function filesOf(path) {
  if (!existsSync(path)) return [];
  try {
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  } catch {
    return [path];
  }
}

const hash = createHash('sha256');
for (const file of inputs.flatMap(filesOf)) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
const state = hash.digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== state) {
  const { build } = await import('vite');
  await build({ configFile: 'src/dashboard/vite.config.ts', logLevel: 'error', mode: 'production' });
  const br = promisify(brotliCompress);
  const gz = promisify(gzip);
  await Promise.all(
    filesOf(folder)
      .filter((file) => /\.(html|js|css|svg|json)$/.test(file))
      .map(async (file) => {
        const bytes = readFileSync(file);
        const params = {
          [constants.BROTLI_PARAM_QUALITY]: 11,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        };
        writeFileSync(`${file}.br`, await br(bytes, { params }));
        writeFileSync(`${file}.gz`, await gz(bytes, { level: 9 }));
      }),
  );
  writeFileSync(stamp, state);
}
