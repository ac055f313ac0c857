// Removes a folder, whether or not it is there: node remove.mjs FOLDER
import { rmSync } from 'node:fs';

const folder = process.argv[2];
if (folder) rmSync(folder, { recursive: true, force: true });
