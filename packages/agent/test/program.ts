// The program `reeve-agent` as tests start it: the compiled one, or its source where that is newer.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compiled } from '../../../test/compiled.ts';

/** Arguments of `node` that run the program, before the program's own. */
export function programArgs(): string[] {
  const file = compiled('packages/agent/src/cli/main.ts');
  if (file) return [fileURLToPath(file)];
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return ['--import', loader, join(import.meta.dirname, '../src/cli/main.ts')];
}
