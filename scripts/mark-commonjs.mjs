// Finishes a folder of compiled CommonJS files in a package whose others are modules: tells Node their form, and leaves
// out comments, which stand in the modules. Usage: node mark-commonjs.mjs FOLDER
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';

const folder = process.argv[2] ?? '.';
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !entry.name.endsWith('.js')) continue;
  const path = join(entry.parentPath, entry.name);
  const { code } = transformSync(readFileSync(path, 'utf8'), { legalComments: 'none', charset: 'utf8' });
  writeFileSync(path, code);
}
