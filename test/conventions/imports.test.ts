// The conventions that a compiler does not check: import directions (a table), files with exclusive rights, and file
// sizes.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { consoleAgentFrames, consoleDashboardFrames } from '../../src/http/contract/frames.ts';
import { mayImport } from './layers.ts';

const root = join(dirname(new URL(import.meta.url).pathname), '../..');

const filesOf = (folders: readonly string[], ending: RegExp): string[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => ending.test(name))
      .map((name) => posix.join(folder, name.replaceAll('\\', '/'))),
  );
const files = filesOf(['src', 'actors', 'adapters', 'demo', 'packages/agent/src'], /\.tsx?$/);
const styles = filesOf(['src'], /\.css$/);

/** Packages by the folders that may import them; `@scope/*` stands for all packages of a scope. */
const vendors: { readonly [name: string]: readonly string[] } = {
  'uWebSockets.js': ['adapters/uws'],
  ws: ['adapters/node-http', 'packages/agent/src'],
  libsql: ['adapters/sqlite'],
  mongodb: ['adapters/mongo'],
  redis: ['adapters/redis', 'adapters/bullmq'],
  bullmq: ['adapters/bullmq'],
  pino: ['adapters/node'],
  tweetnacl: ['adapters/node', 'src/dashboard'],
  nodemailer: ['adapters/messengers'],
  jose: ['adapters/jose'],
  'openid-client': ['adapters/openid'],
  '@opentelemetry/*': ['adapters/otel'],
  // Its text is an API of the hub, made where the figures are.
  'prom-client': ['src/hub/metrics'],
  // A stream encodes each frame once, at the edge.
  '@msgpack/msgpack': ['adapters/redis', 'src/http/live'],
  yaml: ['packages/agent/src/rules'],
  react: ['src/dashboard'],
  'react-dom/client': ['src/dashboard'],
};

const foldersOf = (name: string): readonly string[] | undefined =>
  vendors[name] ?? vendors[name.replace(/\/.*$/, '/*')];

const sourceOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const importsOf = (file: string): string[] =>
  [...sourceOf(file).matchAll(/^(?:import|export)\b[^;]*?from\s+'([^']+)'/gm)].map((match) => match[1] ?? '');
/** The files of this repository that a file imports. */
const ownImportsOf = (file: string): string[] =>
  importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => relative(root, join(root, dirname(file), name)).replaceAll('\\', '/'));
interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

const isTypeImport = (keyword: string | undefined, names: string): boolean =>
  keyword !== undefined ||
  names
    .replaceAll(/[{}\s]+/g, ' ')
    .split(',')
    .every((name) => name.trim() === '' || name.trim().startsWith('type '));

const importsBetween = (file: string): Import[] =>
  [...sourceOf(file).matchAll(/^(?:import|export)( type)?\b([^;]*?)from\s+'(\.[^']+)'/gm)].map(
    ([, keyword, names = '', name = '']) => ({
      from: file,
      to: relative(root, join(root, dirname(file), name)).replaceAll('\\', '/'),
      isType: isTypeImport(keyword, names),
    }),
  );

const refusedImports = files
  .flatMap(importsBetween)
  .filter(({ from, to, isType }) => !mayImport(from, to, isType))
  .map(({ from, to }) => `${from} → ${to}`);

/** The packages that files load, with all files that they load. */
function packagesFrom(...entries: readonly string[]): readonly string[] {
  const visited = new Set<string>();
  const packages = new Set<string>();
  const walk = (file: string): void => {
    if (visited.has(file)) return;
    visited.add(file);
    for (const [, name = ''] of sourceOf(file).matchAll(
      /^(?:import|export) (?!type)[^;]*?from\s+'([^']+)'/gm,
    )) {
      const path = relative(root, join(root, dirname(file), name));
      if (!name.startsWith('.')) packages.add(name);
      else if (files.includes(path)) walk(path);
    }
  };
  for (const entry of entries) walk(entry);
  return [...packages];
}

describe('import directions', () => {
  it('follow the law of layers, without an exception', () => {
    expect(refusedImports).toEqual([]);
  });

  it('never leave the room of a noun for another API', () => {
    const apiOf = (file: string) => /^src\/(\w+)\/(console|hosted)\b/.exec(file)?.slice(1).join('/');
    const crossing = refusedImports.filter((line) => {
      const [from, to] = line.split(' → ').map(apiOf);
      return from && to && from.split('/')[1] !== to.split('/')[1];
    });
    expect(crossing).toEqual([]);
  });

  it('leads no file back to itself', () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const walk = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (done.has(file)) return;
      done.add(file);
      for (const next of ownImportsOf(file)) if (files.includes(next)) walk(next, [...path, file]);
    };
    for (const file of files) walk(file, []);
    expect(circles).toEqual([]);
  });

  it('starts a hub on its own without the clients of services that it does not use', () => {
    const packages = packagesFrom('src/hub/commands/serve.ts');
    expect(packages).toContain('zod');
    expect(packages.filter((name) => /^(mongodb|redis|bullmq|nodemailer)/.test(name))).toEqual([]);
  });

  it('gives browsers no zod, which compiles texts where their policy forbids it', () => {
    const packages = packagesFrom(...files.filter((file) => file.startsWith('src/dashboard/')));
    expect(packages).toContain('react');
    expect(packages).not.toContain('zod');
  });

  it('gives browsers types of the API alone, and of the agent package what needs no Node', () => {
    const shipped = files
      .filter((file) => file.startsWith('src/dashboard/'))
      .flatMap((file) =>
        [...sourceOf(file).matchAll(/^import (?!type)[^;]*?from\s+'([^']+)'/gm)]
          .map((match) => relative(root, join(root, dirname(file), match[1] ?? '')))
          .filter(
            (name) =>
              /^src\/(?:\w+\/(?:console|hosted)|hub|http)\b/.test(name) ||
              /^packages\/agent\/src\/(?!rules\/|evidence\/|console\/generated\/)/.test(name),
          )
          .map((name) => `${file} imports ${name}`),
      );
    expect(shipped).toEqual([]);
  });

  it('keeps each vendor package in its own folder', () => {
    expect(foldersOf('@opentelemetry/api')).toEqual(['adapters/otel']);
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((name) => foldersOf(name)?.every((folder) => !file.startsWith(`${folder}/`)))
        .map((name) => `${file} imports ${name}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('exclusive rights', () => {
  const uses = (pattern: RegExp): string[] =>
    files.filter((file) => pattern.test(sourceOf(file).replace(/\/\/.*$|\/\*[\s\S]*?\*\//gm, '')));

  it('reads the environment in one file (and one in the agent library, which runs in the agent)', () => {
    expect(uses(/\bprocess\.env\b|\benv\b[^;]*'node:process'/).sort()).toEqual([
      'packages/agent/src/environment.ts',
      'src/hub/config.ts',
    ]);
  });

  it('takes time, timers and randomness from one file (and one in the agent library)', () => {
    const owners = ['adapters/node/clock.ts', 'packages/agent/src/clock.ts', 'src/dashboard/lib/browser.ts'];
    const pattern = /\bDate\.now\(|\bsetTimeout\(|\bsetInterval\(|\bMath\.random\(/;
    expect(uses(pattern).filter((file) => !owners.includes(file))).toEqual([]);
  });

  it('leaves rules without promises and clocks: the same input gives the same answer, at once', () => {
    const isRules = (file: string): boolean =>
      /^(?:src\/(?!dashboard\/)\w+|packages\/agent\/src)\/rules(?:\.ts$|\/)/.test(file);
    // A list of words by which a secret is told from code: none of them is called.
    const wordLists = ['packages/agent/src/rules/redact/judges.ts'];
    const pattern =
      /\b(?:async|await)\b|\bPromise\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bset(?:Timeout|Interval|Immediate)\b|\bMath\.random\b|\bqueueMicrotask\b|\brandomUUID\b/;
    expect(files.filter(isRules).length).toBeGreaterThan(100);
    expect(uses(pattern).filter((file) => isRules(file) && !wordLists.includes(file))).toEqual([]);
  });

  it('names the events of the streams at the edge alone', () => {
    const types = Object.keys({ ...consoleAgentFrames, ...consoleDashboardFrames });
    const edge = ['src/http/', 'src/hub/api/', 'adapters/', 'packages/agent/', 'demo/', 'src/dashboard/'];
    const isEdge = (file: string): boolean =>
      edge.some((folder) => file.startsWith(folder)) || /^src\/\w+\/(?:console|hosted|frames)\b/.test(file);
    const named = uses(new RegExp(`'(?:${types.join('|')})'`));
    expect(named.filter((file) => !isEdge(file))).toEqual([]);
  });

  it('keeps no state of a hub in a module: several hubs may run in one process', () => {
    const emptyMaps = /^(?:export )?(?:const|let) \w+(?:: [^=]+)? = new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)/m;
    const ofHub = (file: string) => /^(?:src|actors|adapters)\/(?!dashboard\/)/.test(file);
    expect(uses(emptyMaps).filter(ofHub)).toEqual([]);
  });

  it('writes to no console', () => {
    expect(uses(/\bconsole\./)).toEqual([]);
  });
});

describe('files', () => {
  it('has none over 400 lines', () => {
    expect(styles).not.toEqual([]);
    expect([...files, ...styles].filter((file) => sourceOf(file).split('\n').length > 401)).toEqual([]);
  });

  it('opens each with what it owns', () => {
    expect(files.filter((file) => !/^(#!.*\n)?(\/\/|\/\*\*)/.test(sourceOf(file)))).toEqual([]);
    expect(styles.filter((file) => !sourceOf(file).startsWith('/*'))).toEqual([]);
  });
});
