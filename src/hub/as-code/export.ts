// Writes a hub's state as a folder. A file that has the content already stays as it is, with its comments. A file from
// an earlier export is removed if its record is gone.
import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringifyYaml } from 'reeve-agent/rules';
import type { z } from 'zod';
import { HubError } from '../../shared/error.ts';
import { canonicalJson } from '../../shared/json/canonical.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import type { HubConnection } from './connection.ts';
import { byText, hashOf, mapFew, sha256, slotOf } from './content.ts';
import { entriesOf, type FileProblem, folders, maxFileBytes, parseText, readText, singles } from './files.ts';
import { type HubState, previewOf } from './hub-state.ts';
import {
  compositionFile,
  compositionForm,
  contractFile,
  deploymentsFile,
  rulesFile,
  toolsFile,
} from './record.ts';

const marker = '# Written by reeve export.\n';
/** Contains the path of each file that folder and hub had in common after the last export, one a line. */
const listFile = '.reeve-export';

interface OutFile {
  readonly path: string;
  readonly text: string;
  /** Null for bytes that are kept as they are. */
  readonly schema: z.ZodType | null;
}

/** @throws HubError internal when a value cannot be written as YAML */
function yamlFile(path: string, value: object, schema: z.ZodType): OutFile {
  const desiredText = canonicalJson(value);
  for (const body of [stringifyYaml(value), `${JSON.stringify(value)}\n`]) {
    const text = marker + body;
    const problems: FileProblem[] = [];
    const read = Buffer.byteLength(text) > maxFileBytes ? null : parseText(text, path, schema, problems);
    if (read && problems.length === 0 && canonicalJson(read.value) === canonicalJson(schema.parse(value)))
      return { path, text, schema };
  }
  throw new HubError(
    'unprocessable',
    `${path} cannot be written as YAML of at most ${maxFileBytes} bytes: ${desiredText.slice(0, 80)}`,
  );
}

/** @param report called with what is read now */
export async function filesOf(
  connection: HubConnection,
  hub: HubState,
  report: (what: string) => void,
): Promise<readonly OutFile[]> {
  const files: OutFile[] = [];
  for (const [id, { content }] of hub.contracts)
    files.push(yamlFile(`contracts/${id}.yaml`, snakeKeys({ contractId: id, ...content }), contractFile));
  for (const [key, { contractId, content }] of hub.pinned) {
    if (hub.contracts.get(contractId)?.hash === hashOf(content)) continue;
    files.push(yamlFile(`contracts/${key}.yaml`, snakeKeys({ contractId, ...content }), contractFile));
  }
  for (const [name, { content }] of hub.compositions) {
    const contracts = content.contracts.map(({ revision, ...item }) =>
      hub.contracts.get(item.contractId)?.hash === revision ? item : { ...item, revision },
    );
    files.push(
      yamlFile(
        `compositions/${name}.yaml`,
        compositionForm({ name, ...content, contracts }),
        compositionFile,
      ),
    );
  }
  report('documents');
  const previews = new Map(
    await mapFew([...hub.compositions.keys()], async (name) => {
      const isDeployed = hub.environments.some(({ env }) => hub.deployments.has(slotOf(env, name)));
      return [name, isDeployed ? ((await previewOf(connection, name))?.hash ?? null) : null] as const;
    }),
  );
  const bundles = new Map<string, { readonly name: string; readonly version: number }>();
  const deployments = [...hub.deployments.values()]
    .sort((a, b) => byText(a.bundle, b.bundle) || byText(a.env, b.env))
    .map(({ env, bundle, hash, version }) => {
      if (previews.get(bundle) === hash) return { env, bundle };
      bundles.set(hash, { name: bundle, version });
      return { env, bundle, revision: hash };
    });
  for (const [name, { latest, versions }] of hub.bundles) {
    if (hub.compositions.has(name)) continue;
    for (const [hash, version] of versions) if (version === latest) bundles.set(hash, { name, version });
  }
  await mapFew([...bundles], async ([hash, params]) => {
    const text = await connection.read((it) => it.getBundleYaml({ params }));
    if (sha256(text) !== hash)
      throw new HubError(
        'internal',
        `The bundle ${params.name} v${params.version} is not what its hash names.`,
      );
    files.push({ path: `bundles/${hash}.yaml`, text, schema: null });
  });
  const rules = hub.rules.map(({ content }) => snakeKeys(content)).sort((a, b) => a.priority - b.priority);
  files.push(yamlFile(singles.rules, { rules }, rulesFile));
  files.push(yamlFile(singles.tools, snakeKeys(hub.tools.content), toolsFile));
  files.push(yamlFile(singles.deployments, { deployments }, deploymentsFile));
  return files.sort((a, b) => byText(a.path, b.path));
}

export interface Written {
  readonly files: number;
  readonly written: number;
  readonly removed: readonly string[];
}

/** Null: no export has written a list yet. Its size has no limit, unlike that of other files. */
function readList(folder: string): ReadonlySet<string> | null {
  const path = join(folder, listFile);
  return existsSync(path) ? new Set(readFileSync(path, 'utf8').split('\n')) : null;
}

/** @throws HubError conflict for a file in the way that is neither on the hub nor from an export */
export function writeFiles(
  folder: string,
  files: readonly OutFile[],
  { bundles }: Pick<HubState, 'bundles'>,
): Written {
  const paths = files.map(({ path }) => path);
  const currentPaths = new Set(paths);
  const listedPaths = readList(folder);
  const uploadedHashes = new Set([...bundles.values()].flatMap(({ versions }) => [...versions.keys()]));
  const stale: string[] = [];
  for (const name of folders) {
    for (const entry of entriesOf(folder, name) ?? []) {
      const path = `${name}/${entry.name}`;
      if (!/\.ya?ml$/.test(entry.name) || currentPaths.has(path)) continue;
      const text = readText(folder, path);
      const isListed = listedPaths?.has(path);
      const canRemove =
        typeof text === 'string' &&
        (name === 'bundles'
          ? entry.name === `${sha256(text)}.yaml` && (isListed || uploadedHashes.has(sha256(text)))
          : text.startsWith(marker) && isListed === true);
      if (!canRemove) {
        const advice = 'Apply it first, move it away, or remove it.';
        throw new HubError(
          'conflict',
          `${join(folder, path)} is not on the hub, and no export wrote it. ${advice}`,
        );
      }
      stale.push(path);
    }
  }
  for (const name of folders) mkdirSync(join(folder, name), { recursive: true });
  for (const path of stale) rmSync(join(folder, path));
  const changedFiles = files.filter((file) => !isSame(folder, file));
  // First, because a file that the list does not contain is never removed.
  writeWhole(folder, listFile, marker + paths.map((path) => `${path}\n`).join(''));
  for (const { path, text } of changedFiles) writeWhole(folder, path, text);
  for (const name of folders)
    if (!files.some(({ path }) => path.startsWith(`${name}/`)))
      writeFileSync(join(folder, name, '.gitkeep'), '');
  return { files: files.length, written: changedFiles.length, removed: stale };
}

function writeWhole(folder: string, file: string, text: string): void {
  const path = join(folder, file);
  writeFileSync(`${path}.partial`, text);
  renameSync(`${path}.partial`, path);
}

function isSame(folder: string, { path, text, schema }: OutFile): boolean {
  const stat = lstatSync(join(folder, path), { throwIfNoEntry: false });
  if (!stat) return false;
  const existing = readText(folder, path);
  if (typeof existing !== 'string') return false;
  if (existing === text || schema === null) return existing === text;
  const problems: FileProblem[] = [];
  const [before, after] = [existing, text].map((one) => parseText(one, path, schema, problems));
  return before != null && after != null && canonicalJson(before.value) === canonicalJson(after.value);
}
