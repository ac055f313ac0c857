// Tells Node that the files of a folder are CommonJS, in a package whose others are modules: node mark-commonjs.mjs
// FOLDER
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2] ?? '.';
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
