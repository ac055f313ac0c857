// A folder as it is read: every file checked before anything is done with any of them.
import { statSync } from 'node:fs';
import { RuleError, readBundleHeader } from 'reeve-agent/rules';
import { bundleName, contractId } from '../../http/contract/fields.ts';
import { HubError } from '../../shared/error.ts';
import { type Env, reservedBundleNames } from '../../shared/ids.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import {
  byPlace,
  type CompositionContent,
  type ContractContent,
  hashOf,
  type ItemContent,
  olderKeyOf,
  type RuleContent,
  sha256,
  slotOf,
  type ToolsContent,
} from './content.ts';
import {
  entriesOf,
  type FilePlace,
  type FileProblem,
  type FolderName,
  folders,
  maxFiles,
  problemAt,
  readText,
  readYaml,
  refuseProblems,
  singles,
} from './files.ts';
import {
  compositionFile,
  compositionForm,
  contractFile,
  deploymentsFile,
  rulesFile,
  toolsFile,
} from './record.ts';

/** An item whose revision is absent follows the contract's file. */
export type ItemOfFile = Omit<ItemContent, 'revision'> & {
  readonly revision: string | null;
  readonly place: FilePlace;
};
export type CompositionOfFile = Omit<CompositionContent, 'contracts'> & {
  readonly contracts: readonly ItemOfFile[];
};

export interface DeploymentOfFile {
  readonly env: Env;
  readonly bundle: string;
  /** Null: the composition of this name. */
  readonly revision: string | null;
  readonly place: FilePlace;
}

export interface BundleOfFile {
  readonly name: string;
  readonly text: string;
  readonly place: FilePlace;
}

export interface ContractOfFile {
  readonly content: ContractContent;
  readonly hash: string;
  readonly place: FilePlace;
  readonly definitionPlace: FilePlace;
}

/** Null where the folder has no file for it: then it is not managed. */
export interface Folder {
  readonly contracts: ReadonlyMap<string, ContractOfFile> | null;
  /** Older contents that compositions pin, by contract and hash (`olderKeyOf`). */
  readonly older: ReadonlyMap<string, { readonly contractId: string; readonly content: ContractContent }>;
  readonly compositions: ReadonlyMap<
    string,
    { readonly content: CompositionOfFile; readonly place: FilePlace }
  > | null;
  /** By hash. */
  readonly bundles: ReadonlyMap<string, BundleOfFile> | null;
  readonly rules: readonly { readonly content: RuleContent; readonly place: FilePlace }[] | null;
  readonly tools: { readonly content: Partial<ToolsContent>; readonly place: FilePlace } | null;
  readonly deployments: ReadonlyMap<string, DeploymentOfFile> | null;
  /** Of everything above. */
  readonly hash: string;
}

const olderName = /^(.+)@([0-9a-f]{64})$/;

/** @throws HubError unprocessable with a line for each problem; not_found without a folder */
export function readFolder(path: string): Folder {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new HubError('not_found', `The folder ${path} does not exist.`);
  const problems: FileProblem[] = [];
  const names = namesIn(path, problems);
  refuseProblems(problems);
  const contracts = names.contracts && new Map<string, ContractOfFile>();
  const older = new Map<string, { contractId: string; content: ContractContent }>();
  for (const name of names.contracts ?? []) {
    const [, id = name, hash = null] = olderName.exec(name) ?? [];
    const file = `contracts/${name}.yaml`;
    if (!contractId.safeParse(id).success) {
      problems.push(problemAt({ file, line: 1 }, 'the name of the file is not a contract id'));
      continue;
    }
    const read = readYaml(path, file, contractFile, problems);
    if (!read) continue;
    const { contractId: ownId = id, ...content } = read.value;
    if (ownId !== id) problems.push(problemAt(read.placeOf(['contract_id']), `must be ${id}, as the file`));
    const place = read.placeOf([]);
    const contentHash = hashOf(content);
    if (hash === null) {
      const definitionPlace = read.placeOf(['definition']);
      contracts?.set(id, { content, hash: contentHash, place, definitionPlace });
    } else if (contentHash === hash) older.set(olderKeyOf(id, hash), { contractId: id, content });
    else problems.push(problemAt(place, `has the hash ${contentHash}, not that of its name`));
  }
  const compositions = names.compositions && readCompositions(path, names.compositions, problems);
  const bundles = names.bundles && readBundles(path, names.bundles, problems);
  const rules = names.rules ? readRules(path, problems) : null;
  const tools = names.tools ? readTools(path, problems) : null;
  const deployments = names.deployments ? readDeployments(path, problems) : null;
  refuseProblems(problems);
  const parts = { contracts, older, compositions, bundles, rules, tools, deployments };
  const forms = {
    ...parts,
    compositions:
      compositions &&
      new Map(
        Array.from(compositions, ([name, { content }]) => [name, { content: compositionForm(content) }]),
      ),
    rules: rules?.map(({ content }) => ({ content: snakeKeys(content) })) ?? null,
    tools: tools && { content: snakeKeys(tools.content) },
  };
  return { ...parts, hash: hashOf(plain(forms)) };
}

/** Maps as objects, without places. */
function plain(value: unknown): object {
  const text = JSON.stringify(value, (key, part: unknown) => {
    if (key === 'place' || key === 'definitionPlace') return undefined;
    return part instanceof Map ? Object.fromEntries(part) : part;
  });
  return JSON.parse(text) as object;
}

type Names = { readonly [F in FolderName]: readonly string[] | null } & {
  readonly [S in keyof typeof singles]: boolean;
};

function namesIn(path: string, problems: FileProblem[]): Names {
  let count = 0;
  const within = (name: FolderName): readonly string[] | null => {
    const entries = entriesOf(path, name);
    if (entries === null) return null;
    for (const entry of entries) {
      if (entry.name.endsWith('.yml'))
        problems.push(problemAt({ file: `${name}/${entry.name}`, line: 1 }, 'rename the file to .yaml'));
    }
    const files = entries.filter((entry) => entry.name.endsWith('.yaml'));
    count += files.length;
    return files.map((entry) => entry.name.slice(0, -'.yaml'.length));
  };
  const top = new Set((entriesOf(path, '.') ?? []).map((entry) => entry.name));
  const names: Names = {
    contracts: within('contracts'),
    compositions: within('compositions'),
    bundles: within('bundles'),
    rules: top.has(singles.rules),
    tools: top.has(singles.tools),
    deployments: top.has(singles.deployments),
  };
  if (count > maxFiles)
    problems.push(`${path}: the folders contain ${count} files, but at most ${maxFiles} are read`);
  if (Object.values(names).every((part) => part === null || part === false)) {
    const knownNames = [...folders.map((name) => `${name}/`), ...Object.values(singles)].join(', ');
    problems.push(`${path}: contains none of ${knownNames}`);
  }
  return names;
}

function readCompositions(path: string, names: readonly string[], problems: FileProblem[]) {
  const compositions = new Map<string, { content: CompositionOfFile; place: FilePlace }>();
  for (const name of names) {
    const file = `compositions/${name}.yaml`;
    if (!bundleName.safeParse(name).success || reservedBundleNames.has(name)) {
      problems.push(problemAt({ file, line: 1 }, 'the name of the file is not a name of a composition'));
      continue;
    }
    const read = readYaml(path, file, compositionFile, problems);
    if (!read) continue;
    const { name: ownName = name, contracts, ...content } = read.value;
    if (ownName !== name) problems.push(problemAt(read.placeOf(['name']), `must be ${name}, as the file`));
    const items = contracts.map(
      (item, i): ItemOfFile => ({
        ...item,
        revision: item.revision ?? null,
        place: read.placeOf(['contracts', i]),
      }),
    );
    const ids = new Set<string>();
    for (const { contractId: id, place } of items) {
      if (ids.has(id)) problems.push(problemAt(place, `the list contains ${id} twice`));
      ids.add(id);
    }
    compositions.set(name, {
      content: { ...content, contracts: items.sort(byPlace) },
      place: read.placeOf([]),
    });
  }
  return compositions;
}

function readBundles(path: string, names: readonly string[], problems: FileProblem[]) {
  const bundles = new Map<string, BundleOfFile>();
  for (const hash of names) {
    const place = { file: `bundles/${hash}.yaml`, line: 1 };
    const text = readText(path, place.file);
    if (typeof text !== 'string') problems.push(text.problem);
    else if (sha256(text) !== hash)
      problems.push(problemAt(place, `the SHA-256 of the file is ${sha256(text)}; rename it to that`));
    else {
      try {
        bundles.set(hash, { name: readBundleHeader(text).name, text, place });
      } catch (error) {
        if (!(error instanceof RuleError)) throw error;
        const line = Number(/line (\d+)/.exec(error.message)?.[1] ?? 1);
        problems.push(problemAt({ ...place, line }, error.message));
      }
    }
  }
  return bundles;
}

function readRules(path: string, problems: FileProblem[]) {
  const read = readYaml(path, singles.rules, rulesFile, problems);
  const priorities = new Set<number>();
  return (read?.value.rules ?? []).map(({ tagMatch = null, ...rule }, i) => {
    const place = read?.placeOf(['rules', i]) ?? { file: singles.rules, line: 1 };
    if (priorities.has(rule.priority))
      problems.push(problemAt(place, `another rule has the priority ${rule.priority}`));
    priorities.add(rule.priority);
    if (!/^[\x20-\x2e\x30-\x5b\x5d-\x7e]+$/.test(rule.pattern))
      problems.push(problemAt(place, 'pattern must be printable ASCII without slashes'));
    return { content: { ...rule, tagMatch } satisfies RuleContent, place };
  });
}

function readTools(path: string, problems: FileProblem[]) {
  const read = readYaml(path, singles.tools, toolsFile, problems);
  if (!read) return null;
  const empty: ToolsContent = {
    toolArguments: {},
    customSelectors: [],
    customOperators: [],
    commandProfiles: {},
    isolation: 'none',
  };
  // Null clears a field; an absent field keeps its value on the hub.
  const content = Object.fromEntries(
    Object.entries(read.value)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, value ?? empty[name as keyof ToolsContent]]),
  ) as Partial<ToolsContent>;
  return { content, place: read.placeOf([]) };
}

function readDeployments(path: string, problems: FileProblem[]) {
  const deployments = new Map<string, DeploymentOfFile>();
  const read = readYaml(path, singles.deployments, deploymentsFile, problems);
  for (const [i, { env, bundle, revision = null }] of (read?.value.deployments ?? []).entries()) {
    const place = read?.placeOf(['deployments', i]) ?? { file: singles.deployments, line: 1 };
    const slot = slotOf(env, bundle);
    if (deployments.has(slot)) problems.push(problemAt(place, `${bundle} stands twice for ${env}`));
    deployments.set(slot, { env, bundle, revision, place });
  }
  return deployments;
}
