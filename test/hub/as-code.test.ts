// Folders and hubs whose contracts have equal older contents: every contract keeps its own.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { changesOf } from '../../src/hub/as-code/changes.ts';
import type { HubConnection } from '../../src/hub/as-code/connection.ts';
import { hashOf, sha256 } from '../../src/hub/as-code/content.ts';
import { filesOf, writeFiles } from '../../src/hub/as-code/export.ts';
import { maxFileBytes } from '../../src/hub/as-code/files.ts';
import { readFolder } from '../../src/hub/as-code/folder.ts';
import { readHub } from '../../src/hub/as-code/hub-state.ts';
import { definition } from '../contract/library.ts';

const root = mkdtempSync(join(tmpdir(), 'reeve-as-code-'));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(root, 'folder-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const ids = ['one', 'two'];
const content = (pattern: string) => ({
  name: 'Limit',
  description: null,
  type: 'pre' as const,
  definition: definition(pattern),
  tags: [],
});
const [older, newer] = [content('^/older/'), content('^/newer/')];
const pinned = hashOf(older);

/** A hub with a composition that pins version 1 of each contract. @param contractIds of its contracts */
function hubWith(contractIds: readonly string[]): HubConnection {
  const page = <T>(items: readonly T[], offset: number): readonly T[] => items.slice(offset);
  type Query = { readonly query: { readonly offset: number } };
  const composition = {
    name: 'team',
    description: null,
    defaults_mode: 'enforce',
    update_strategy: 'manual',
    document_kind: null,
    tools_config: null,
    observability: null,
    updated_at: '1',
    contracts: contractIds.map((contract_id, i) => ({
      contract_id,
      contract_version: 1,
      position: 10 * (i + 1),
      mode_override: null,
      enabled: true,
      has_newer_version: true,
    })),
  };
  const client = {
    listEnvironments: async () => ({
      tenant_id: 't1',
      environments: [{ env: 'production', role: 'admin', can_change: true }],
    }),
    listContracts: async ({ query }: Query) =>
      page(
        contractIds.map((contract_id) => ({ contract_id })),
        query.offset,
      ),
    getContract: async () => ({ ...newer, id: 'v2', version: 2 }),
    getContractVersion: async () => ({ ...older, id: 'v1', version: 1 }),
    listCompositions: async ({ query }: Query) =>
      page(contractIds.length > 0 ? [{ name: 'team' }] : [], query.offset),
    getComposition: async () => composition,
    listBundles: async () => [],
    listRules: async () => [],
    toolSettings: async () => ({
      tool_arguments: {},
      custom_selectors: [],
      custom_operators: [],
      command_profiles: {},
      isolation: 'none',
      updated_at: null,
    }),
  };
  const call = <T>(ask: (hub: never) => Promise<T>): Promise<T> => ask(client as never);
  return { url: 'http://hub.example', read: call, write: call };
}

const silent = () => {};

async function changesFor(connection: HubConnection) {
  const problems: string[] = [];
  const options = { prunes: false, preview: async () => null };
  const { steps, desired } = await changesOf(
    readFolder(folder),
    await readHub(connection, silent),
    options,
    problems as never,
  );
  return { problems, desired, things: steps.map(({ action, key }) => `${action} ${key}`) };
}

/** Writes the hub's files into the folder. */
async function exportFrom(connection: HubConnection) {
  const hub = await readHub(connection, silent);
  return writeFiles(folder, await filesOf(connection, hub, silent), hub);
}

describe('an export', () => {
  const at = (path: string): string => join(folder, path);
  const bundle = (text: string) => ({ path: `bundles/${sha256(text)}.yaml`, text, schema: null });
  const hubOf = (...texts: string[]) => ({
    bundles: new Map([['plain', { latest: 1, versions: new Map(texts.map((text) => [sha256(text), 1])) }]]),
  });

  it('removes the files of an earlier export that the hub lost, and only these', async () => {
    await exportFrom(hubWith(ids));
    const { removed } = await exportFrom(hubWith(['one']));
    expect(removed).toEqual(['contracts/two.yaml', `contracts/two@${pinned}.yaml`]);
    expect(readdirSync(at('contracts'))).toEqual(['one.yaml', `one@${pinned}.yaml`]);
    expect(writeFiles(folder, [bundle('first')], hubOf()).removed).toHaveLength(3);
    expect(writeFiles(folder, [bundle('second')], hubOf()).removed).toEqual([bundle('first').path]);
  });

  it('refuses a copy of a file that an export wrote', async () => {
    await exportFrom(hubWith(ids));
    const text = readFileSync(at('contracts/one.yaml'), 'utf8');
    writeFileSync(at('contracts/three.yaml'), text.replaceAll('one', 'three'));
    await expect(exportFrom(hubWith(ids))).rejects.toMatchObject({ code: 'conflict' });
    expect(readdirSync(at('contracts'))).toContain('three.yaml');
  });

  it('refuses a bundle that is not applied yet', () => {
    writeFiles(folder, [], hubOf());
    const { path, text } = bundle('by hand');
    writeFileSync(at(path), text);
    expect(() => writeFiles(folder, [], hubOf())).toThrow(path);
    expect(readdirSync(at('bundles'))).toContain(path.replace('bundles/', ''));
  });

  it('removes the files of an export that wrote no list, though they were unchanged at the next one', async () => {
    await exportFrom(hubWith(ids));
    rmSync(at('.reeve-export'));
    await exportFrom(hubWith(ids));
    await exportFrom(hubWith(['one']));
    expect(readdirSync(at('contracts'))).toContain('one.yaml');
    expect(readdirSync(at('contracts'))).not.toContain('two.yaml');
  });

  it('refuses to remove what it may not have written: a folder without its list', async () => {
    await exportFrom(hubWith(ids));
    rmSync(at('.reeve-export'));
    await expect(exportFrom(hubWith(['one']))).rejects.toMatchObject({ code: 'conflict' });
    expect(readdirSync(at('contracts'))).toContain('two.yaml');
  });

  it('removes an older upload that the hub has, and one that left the hub after an export', () => {
    mkdirSync(at('bundles'));
    for (const text of ['first', 'second']) writeFileSync(at(bundle(text).path), text);
    const latest = bundle('second');
    expect(writeFiles(folder, [latest], hubOf('first', 'second')).removed).toEqual([bundle('first').path]);
    expect(writeFiles(folder, [], hubOf()).removed).toEqual([latest.path]);
  });

  it('finds its own files in a list of more than 1 MiB', () => {
    const files = [bundle('only'), ...Array.from({ length: 20 }, (_, i) => bundle(`${i}`))];
    writeFiles(folder, files, hubOf());
    const path = at('.reeve-export');
    writeFileSync(path, `${'x'.repeat(maxFileBytes)}\n${readFileSync(path, 'utf8')}`);
    expect(writeFiles(folder, [], hubOf()).removed).toHaveLength(files.length);
  });
});

describe('equal older contents of two contracts', () => {
  it('in a folder are pinned by both', async () => {
    for (const name of ['contracts', 'compositions']) mkdirSync(join(folder, name));
    const write = (path: string, value: object): void =>
      writeFileSync(join(folder, path), JSON.stringify(value));
    for (const id of ids) {
      write(`contracts/${id}.yaml`, newer);
      write(`contracts/${id}@${pinned}.yaml`, older);
    }
    const contracts = ids.map((contract_id, i) => ({
      contract_id,
      position: 10 * (i + 1),
      revision: pinned,
    }));
    write('compositions/team.yaml', { contracts });
    const { problems, desired } = await changesFor(hubWith([]));
    expect(problems).toEqual([]);
    for (const id of ids) expect(desired.contentOf(id, pinned)).toEqual(older);
    expect(desired.contentOf('three', pinned)).toBeUndefined();
  });

  it('on a hub are exported for both, and a diff then finds nothing', async () => {
    const connection = hubWith(ids);
    await exportFrom(connection);
    expect(readdirSync(join(folder, 'contracts')).sort()).toEqual(
      ids.flatMap((id) => [`${id}.yaml`, `${id}@${pinned}.yaml`]),
    );
    expect(await changesFor(connection)).toMatchObject({ problems: [], things: [] });
  });
});
