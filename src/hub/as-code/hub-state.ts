// The present state of a hub, in the words of the folder, with the tags that conditions of writes need.
import type { Env } from '../../shared/ids.ts';
import { camelKeys, snakeKeys } from '../../shared/snake-keys.ts';
import type { HubConnection } from './connection.ts';
import {
  byPlace,
  type CompositionContent,
  type ContractContent,
  hashOf,
  mapFew,
  olderKeyOf,
  type RuleContent,
  sha256,
  slotOf,
  type ToolsContent,
} from './content.ts';
import { compositionForm } from './record.ts';

export interface HubContract {
  readonly content: ContractContent;
  readonly hash: string;
  /** The id of the latest version. */
  readonly tag: string;
  /** The number of the latest version. */
  readonly version: number;
}

export interface HubComposition {
  readonly content: CompositionContent;
  readonly hash: string;
  /** Its `updated_at`. */
  readonly tag: string;
}

export interface HubBundle {
  readonly latest: number;
  /** Hash → its newest version. */
  readonly versions: Map<string, number>;
}

export interface HubDeployment {
  readonly env: Env;
  readonly bundle: string;
  readonly version: number;
  readonly hash: string;
}

export interface HubRule {
  readonly id: string;
  readonly content: RuleContent;
  readonly hash: string;
  readonly tag: string;
}

export interface HubEnvironment {
  readonly env: Env;
  readonly role: string;
  readonly canChange: boolean;
}

export interface HubState {
  readonly tenantId: string;
  readonly environments: readonly HubEnvironment[];
  readonly contracts: ReadonlyMap<string, HubContract>;
  /** Older contents that compositions pin, by contract and hash (`olderKeyOf`). */
  readonly pinned: ReadonlyMap<string, { readonly contractId: string; readonly content: ContractContent }>;
  readonly compositions: ReadonlyMap<string, HubComposition>;
  readonly bundles: ReadonlyMap<string, HubBundle>;
  readonly deployments: ReadonlyMap<string, HubDeployment>;
  readonly rules: readonly HubRule[];
  readonly tools: { readonly content: ToolsContent; readonly hash: string; readonly tag: string };
}

const pageSize = 500;

/** All items of a list that is answered in pages, each of which may be shorter than its limit. */
async function pages<T>(
  ask: (page: { limit: number; offset: number }) => Promise<readonly T[]>,
): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const page = await ask({ limit: pageSize, offset: items.length });
    if (page.length === 0) return items;
    items.push(...page);
  }
}

const contentOf = ({ name, description, type, definition, tags }: ContractContent): ContractContent => ({
  name,
  description,
  type,
  definition,
  tags,
});

/** @param report called with what is read now */
export async function readHub(hub: HubConnection, report: (what: string) => void): Promise<HubState> {
  const { tenantId, environments } = camelKeys(await hub.read((it) => it.listEnvironments()));
  report('contracts');
  const ids = await pages((query) => hub.read((it) => it.listContracts({ query })));
  const contracts = new Map<string, HubContract>();
  await mapFew(ids, async (listed) => {
    const { contractId: id } = camelKeys(listed);
    const contract = await hub.read((it) => it.getContract({ params: snakeKeys({ contractId: id }) }));
    const content = contentOf(contract);
    contracts.set(id, {
      content,
      hash: hashOf(content),
      tag: contract.id,
      version: contract.version,
    });
  });
  report('compositions');
  const pinned = new Map<string, { contractId: string; content: ContractContent }>();
  const compositions = await readCompositions(hub, contracts, pinned);
  report('bundles');
  const { bundles, deployments } = await readBundles(hub);
  const rules = await pages((query) => hub.read((it) => it.listRules({ query })));
  const tools = await hub.read((it) => it.toolSettings());
  const { toolArguments, customSelectors, customOperators, commandProfiles, isolation } = camelKeys(tools);
  const toolsContent = { toolArguments, customSelectors, customOperators, commandProfiles, isolation };
  return {
    tenantId,
    environments: environments.map(camelKeys),
    contracts,
    pinned,
    compositions,
    bundles,
    deployments,
    rules: rules.map((rule) => {
      const { id, hash: tag, createdAt: _at, ...content } = camelKeys(rule);
      return { id, content: content as RuleContent, hash: hashOf(snakeKeys(content)), tag };
    }),
    tools: { content: toolsContent, hash: hashOf(snakeKeys(toolsContent)), tag: tools.updated_at ?? '0' },
  };
}

async function readCompositions(
  hub: HubConnection,
  contracts: ReadonlyMap<string, HubContract>,
  pinned: Map<string, { contractId: string; content: ContractContent }>,
): Promise<ReadonlyMap<string, HubComposition>> {
  const names = await pages((query) => hub.read((it) => it.listCompositions({ query })));
  const older = new Map<string, Promise<string>>();
  /** Reads the content of a version that is not the newest once. */
  const olderHash = (contractId: string, version: number): Promise<string> => {
    const key = `${contractId}@${version}`;
    const reading =
      older.get(key) ??
      hub
        .read((it) => it.getContractVersion({ params: snakeKeys({ contractId, version }) }))
        .then((version) => {
          const content = contentOf(version);
          const hash = hashOf(content);
          pinned.set(olderKeyOf(contractId, hash), { contractId, content });
          return hash;
        });
    older.set(key, reading);
    return reading;
  };
  const compositions = new Map<string, HubComposition>();
  await mapFew(names, async ({ name }) => {
    const composition = await hub.read((it) => it.getComposition({ params: { name } }));
    const items = await Promise.all(
      composition.contracts.map(async (item) => {
        const { contractId, contractVersion, position, modeOverride, enabled, hasNewerVersion } =
          camelKeys(item);
        const current = hasNewerVersion ? undefined : contracts.get(contractId)?.hash;
        const revision = current ?? (await olderHash(contractId, contractVersion));
        return { contractId, position, modeOverride, enabled, revision };
      }),
    );
    const { description, defaultsMode, updateStrategy, documentKind, toolsConfig, observability } =
      camelKeys(composition);
    const content: CompositionContent = {
      description,
      defaultsMode,
      updateStrategy,
      documentKind,
      contracts: items.sort(byPlace),
      toolsConfig,
      observability,
    };
    compositions.set(name, { content, hash: hashOf(compositionForm(content)), tag: composition.updated_at });
  });
  return compositions;
}

async function readBundles(hub: HubConnection) {
  const names = await pages((query) => hub.read((it) => it.listBundles({ query })));
  const bundles = new Map<string, HubBundle>();
  const deployments = new Map<string, HubDeployment>();
  await mapFew(names, async (listed) => {
    const { name, latestVersion: latest } = camelKeys(listed);
    const all = await pages((query) => hub.read((it) => it.listBundleVersions({ params: { name }, query })));
    const versions = new Map<string, number>();
    for (const one of all) {
      const { version, revisionHash: hash, deployedEnvs } = camelKeys(one);
      // Newest first.
      if (!versions.has(hash)) versions.set(hash, version);
      for (const env of deployedEnvs)
        deployments.set(slotOf(env, name), { env, bundle: name, version, hash });
    }
    bundles.set(name, { latest, versions });
  });
  return { bundles, deployments };
}

/** The document that a composition becomes now; null when nothing can be assembled of it. */
export async function previewOf(
  hub: HubConnection,
  name: string,
): Promise<{ readonly yaml: string; readonly hash: string } | null> {
  const { yamlContent: yaml } = camelKeys(
    await hub.read((it) => it.previewComposition({ params: { name } })),
  );
  return yaml === '' ? null : { yaml, hash: sha256(yaml) };
}
