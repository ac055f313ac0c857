// The words of the code: one name per concept, and none of the names that were given up for the field's own.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Source {
  readonly file: string;
  readonly text: string;
}

const sources = (folders: readonly string[]): readonly Source[] =>
  folders.flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => `${folder}/${name}`)
      .map((file) => ({ file, text: readFileSync(`${root}${file}`, 'utf8') })),
  );

/** The types, interfaces and classes that a file exports. */
const exportedTypes = ({ text }: Source): readonly string[] =>
  [...text.matchAll(/^export (?:abstract )?(?:interface|type|class) (\w+)/gm)].map(([, name]) => name ?? '');

/** The same thing twice on purpose: the two HTTP servers, and the two stores, have their own of each. */
const twins = new Set(['Exchange', 'Handshake', 'SendOptions', 'Row']);

/** Names of an earlier vocabulary, as whole words, with what each is called now. */
const givenUp: { readonly [name: string]: string } = {
  Letter: 'Envelope',
  inTurn: 'KeyedMutex',
  Surroundings: 'ActorEnvironment',
  sightings: 'lastSeen',
  ranMany: 'reportVersions',
  born: 'onActivate',
  unlessTold: 'default',
  'unless told': 'default',
  mongoSeals: 'mongoKeyCheck',
  nouns: 'stores',
  'callers.stands': 'isStillValid',
};

describe('words', () => {
  it('gives no name to two concepts of the hub', () => {
    const places = new Map<string, string[]>();
    for (const source of sources(['src', 'actors', 'adapters']).filter(
      ({ file }) => !file.startsWith('src/dashboard/'),
    )) {
      for (const name of exportedTypes(source)) places.set(name, [...(places.get(name) ?? []), source.file]);
    }
    const shared = [...places].filter(([name, files]) => files.length > 1 && !twins.has(name));
    expect(shared).toEqual([]);
  });

  it('gives no name to two concepts of the web console', () => {
    const names = sources(['src/dashboard']).flatMap(exportedTypes);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('has given up the words that newcomers did not know', () => {
    const code = sources(['src', 'actors', 'adapters', 'packages/agent/src', 'bench', 'test']).filter(
      ({ file }) => !file.startsWith('test/conventions/'),
    );
    const found = code.flatMap(({ file, text }) =>
      Object.entries(givenUp)
        .filter(([name]) => new RegExp(`\\b${name}\\b`).test(text))
        .map(([name, now]) => `${file}: ${name} is ${now}`),
    );
    expect(found).toEqual([]);
  });
});
