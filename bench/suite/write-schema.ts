// Writes bench/results.schema.json.
import { writeFileSync } from 'node:fs';
import { resultsSchemaText } from './results.ts';

writeFileSync(new URL('../results.schema.json', import.meta.url), resultsSchemaText());
