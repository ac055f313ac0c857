// Puts the pages that a user of the agent library needs into its package: node copy-guide.mjs FOLDER
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const pages = ['agent-guide', 'rule-language', 'testing-contracts', 'integrations', 'signatures'];
const docs = fileURLToPath(new URL('../docs', import.meta.url));
const folder = process.argv[2] ?? '.';

mkdirSync(folder, { recursive: true });
for (const page of pages) copyFileSync(join(docs, `${page}.md`), join(folder, `${page}.md`));
