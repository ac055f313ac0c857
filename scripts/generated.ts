// Every file that the build makes from the declarations of routes, by its path from the root of the repository.

import { readConfig } from '../src/hub/config.ts';
import { openApiFor } from '../src/hub/openapi.ts';
import { apiSurface } from './api-surface.ts';
import { clientFolder, consoleClientFiles } from './console-client.ts';
import { limitsPage } from './limits-page.ts';

/** Made by each build and ignored by git: the typed client of the console API and the OpenAPI document. */
export function builtFiles(): ReadonlyMap<string, string> {
  const openApi = openApiFor(readConfig({}));
  const client = [...consoleClientFiles(openApi)].map(
    ([name, text]) => [`${clientFolder}/${name}`, text] as const,
  );
  return new Map([...client, ['dist/openapi.json', openApi]]);
}

/** Committed, and written on request only. */
export const committedFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/api-surface.txt', apiSurface()],
    ['docs/limits.md', limitsPage()],
  ]);

export { clientFolder };
