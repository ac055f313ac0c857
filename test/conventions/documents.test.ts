// Documents that must say what the code says: the OpenAPI document, the version, the map of promises.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { apiSurface } from '../../scripts/api-surface.ts';
import { consoleClientFiles } from '../../scripts/console-client.ts';
import { builtFiles } from '../../scripts/generated.ts';
import { limitsPage } from '../../scripts/limits-page.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { readConfig } from '../../src/hub/config.ts';
import { openApiFor } from '../../src/hub/openapi.ts';
import { version } from '../../src/version.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const openApi = openApiFor(readConfig({}));

describe('documents', () => {
  it('has the line of each route in docs/api-surface.txt (npm run api-surface writes it)', () => {
    expect(read('docs/api-surface.txt')).toBe(apiSurface());
  });

  it('has the tables of admission in docs/limits.md (npm run api-surface writes it)', () => {
    expect(read('docs/limits.md')).toBe(limitsPage());
  });

  it('describes each schema once in the OpenAPI document, and refers to all it names', () => {
    const { components, paths } = JSON.parse(openApi);
    const places = new Map<string, string[]>();
    const walk = (value: unknown, place: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { type, properties, enum: values } = value as { [key: string]: unknown };
      if ((type === 'object' && properties) || (Array.isArray(values) && values.length > 2)) {
        const text = JSON.stringify(value);
        places.set(text, [...(places.get(text) ?? []), place]);
      }
      for (const [key, part] of Object.entries(value)) walk(part, `${place}/${key}`);
    };
    walk({ ...components.schemas, ...paths }, '');
    expect([...places.values()].filter(({ length }) => length > 1)).toEqual([]);
    const referred = new Set(
      JSON.stringify({ components, paths }).match(/(?<="#\/components\/schemas\/)\w+/g),
    );
    expect([...referred].sort()).toEqual(Object.keys(components.schemas).sort());
  });

  it('has every operation of the console API in the typed client, and git ignores what the build makes', () => {
    const [client, table] = [consoleClientFiles(openApi), Object.entries(api)];
    const text = [...client.values()].join('');
    const absent = table.filter(
      ([name, { method, path }]) => !text.includes(`${name}: { method: "${method}", path: "${path}"`),
    );
    expect(absent.map(([name]) => name)).toEqual([]);
    const { stdout } = spawnSync('git', ['check-ignore', '--stdin'], {
      cwd: root,
      input: [...builtFiles().keys()].join('\n'),
      encoding: 'utf8',
    });
    expect(stdout.trim().split('\n')).toEqual([...builtFiles().keys()]);
  });

  it('has one version', () => {
    expect(JSON.parse(read('package.json')).version).toBe(version);
  });

  it('says in docs/adr why each dependency is there', () => {
    const folder = new URL('../../docs/adr/', import.meta.url);
    const reasons = readdirSync(folder)
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .join('\n');
    const said = [...reasons.matchAll(/`(@?[\w./-]+(?:\/\*)?)`/g)].map((match) => match[1] ?? '');
    const isSaid = (name: string): boolean =>
      said.some((one) => one === name || (one.endsWith('/*') && name.startsWith(one.slice(0, -1))));
    const needed = ['package.json', 'packages/agent/package.json'].flatMap((file) => {
      const { dependencies, devDependencies } = JSON.parse(read(file));
      return Object.keys({ ...dependencies, ...devDependencies });
    });
    // The library is this repository's own.
    expect(needed.filter((name) => name !== 'reeve-agent' && !isSaid(name))).toEqual([]);
  });

  it('names only tests and pages that exist', () => {
    const files = readdirSync(new URL('../../docs/', import.meta.url), {
      recursive: true,
      encoding: 'utf8',
    }).filter((name) => name.endsWith('.md'));
    const documents = [
      'ARCHITECTURE.md',
      'README.md',
      'CONTRIBUTING.md',
      ...files.map((name) => `docs/${name}`),
    ];
    const named = documents.flatMap((file) => [
      ...[
        ...read(file).matchAll(
          /`((?:test|docs|src|bench|actors|adapters|packages|scripts|demo|deploy)\/[\w./-]+)`/g,
        ),
      ].map((match) => match[1] ?? ''),
      ...[...read(file).matchAll(/\]\((?!http)([\w./-]+)(?:#[\w-]+)?\)/g)].map((match) =>
        join(file, '..', match[1] ?? ''),
      ),
    ]);
    expect(named.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
  });

  it('keeps at the root only what tools look for there, and no file that a test left behind', () => {
    const { stdout } = spawnSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' });
    const names = stdout.split('\n').filter((path) => path !== '' && !path.includes('/'));
    expect(names.filter((name) => !/\.(md|json|yml|ts)$|^\.|^(Dockerfile|LICENSE)$/.test(name))).toEqual([]);
  });

  it('names in ARCHITECTURE.md only functions that stand in the file before them, and explains twelve words', () => {
    const text = read('ARCHITECTURE.md').replaceAll(/\s+/g, ' ');
    // A file, and the names in the brackets behind it: `path.ts` (`name`, `other`), or `path.ts`: `name` inside them.
    const named = [...text.matchAll(/`([\w./-]+\.ts)`(?: \(|: )((?:`\w+`(?:, | and )?)+)/g)].flatMap(
      ([, file = '', names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => ({ file, name })),
    );
    expect(named.length).toBeGreaterThan(20);
    const absent = named.filter(({ file, name }) => !new RegExp(`\\b${name}\\b`).test(read(file)));
    expect(absent).toEqual([]);
    const [, words = ''] = read('ARCHITECTURE.md').split(/^## Words$/m);
    const rows = words.split(/^## /m)[0]?.match(/^\| (?!Word |-)/gm) ?? [];
    expect(rows.length).toBeLessThanOrEqual(12);
  });
});
