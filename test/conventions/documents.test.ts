// Documents that must say what the code says: the OpenAPI document, the version, the map of promises.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openApiFor } from '../../src/bootstrap/hub.ts';
import { readConfig } from '../../src/config.ts';
import { version } from '../../src/version.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('documents', () => {
  it('holds docs/openapi.json up to date (npm run openapi writes it)', () => {
    expect(read('docs/openapi.json')).toBe(openApiFor(readConfig({})));
  });

  it('has one version', () => {
    expect(JSON.parse(read('package.json')).version).toBe(version);
  });

  it('names only tests and pages that exist', () => {
    const named = ['ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md'].flatMap((file) => [
      ...[...read(file).matchAll(/`((?:test|docs|src|bench|actors|adapters)\/[\w./-]+)`/g)].map(
        (match) => match[1] ?? '',
      ),
      ...[...read(file).matchAll(/\]\((?!http)([\w./-]+)\)/g)].map((match) => match[1] ?? ''),
    ]);
    expect(named.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
  });
});
