// Words of HTTP replies stay at its edge: problems as {loc, msg}, and codes that only HTTP has. Inner layers name a
// field in camelCase, and `src/http/problem.ts` writes its place in the words of the route.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, it } from 'vitest';

const root = join(new URL('.', import.meta.url).pathname, '../..');
const files = ['src', 'actors', 'adapters'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => posix.join(folder, name.replaceAll('\\', '/'))),
);

/** The edge, the files of each API, and the console in the browser, which reads replies. */
const isEdge = (file: string): boolean =>
  /^src\/(?:http|hub\/api|dashboard)\//.test(file) || /^src\/\w+\/(?:console|hosted)\b/.test(file);

const uses = (pattern: RegExp): string[] =>
  files.filter((file) =>
    pattern.test(readFileSync(join(root, file), 'utf8').replace(/\/\/.*$|\/\*[\s\S]*?\*\//gm, '')),
  );

it('writes problems as {loc, msg} at the edge alone', () => {
  const places = uses(/\b(?:loc|msg)\??:|\b(?:loc|msg)\b\s*[,}]/);
  expect(places).toContain('src/http/contract/validation.ts');
  expect(places.filter((file) => !isEdge(file))).toEqual([]);
});

it('names codes of HTTP alone at the edge alone', () => {
  const places = uses(/\bcsrf_header_missing\b/).sort();
  expect(places).toEqual(['src/http/caller.ts', 'src/http/contract/request-error.ts', 'src/http/problem.ts']);
});
