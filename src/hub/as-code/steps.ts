// One change of a hub: what it is for people and plans, and how it is made. Every change names the state that it
// replaces, so that a hub that changed since it was read refuses it.
import type { PutToolSettingsRequest } from 'reeve-agent/console';
import { HubError } from '../../shared/error.ts';
import { camelKeys, snakeKeys } from '../../shared/snake-keys.ts';
import type { HubConnection } from './connection.ts';
import {
  type CompositionContent,
  type ContractContent,
  type RuleContent,
  slotOf,
  type ToolsContent,
} from './content.ts';
import type { BundleOfFile } from './folder.ts';
import { type HubDeployment, type HubRule, type HubState, previewOf } from './hub-state.ts';
import { compositionForm } from './record.ts';

export type Action = 'create' | 'update' | 'upload' | 'delete' | 'deploy' | 'undeploy';

export interface ApplyStep {
  readonly action: Action;
  /** The thing: its kind and its name. Several steps may change one thing. */
  readonly key: string;
  /** Hash of the thing afterwards; null: it is gone; `*`: known once it is done. */
  readonly after: string | null;
  /** More for people; may be empty. */
  readonly note: string;
  /** True for what only `--prune` does. */
  readonly isPruning: boolean;
  run(context: StepContext): Promise<void>;
}

/** State of the hub for the steps, kept up to date by each of them. */
export interface StepContext {
  readonly hub: HubConnection;
  /** Key → the tag of its present state. */
  readonly tags: Map<string, string>;
  /** Contract → number of its latest version. */
  readonly versions: Map<string, number>;
  /** Bundle → hash → version. */
  readonly bundles: Map<string, Map<string, number>>;
  /** Slot → hash. */
  readonly deployed: Map<string, string>;
}

export const keyOf = {
  contract: (id: string) => `contract ${id}`,
  composition: (name: string) => `composition ${name}`,
  bundle: (name: string) => `bundle ${name}`,
  revision: (name: string, hash: string) => `bundle ${name}@${hash}`,
  rule: (priority: number) => `rule ${priority}`,
  tools: 'tool settings',
  deployment: (slot: string) => `deployment ${slot}`,
} as const;

export const unknownHash = '*';

export function newRun(hub: HubConnection, state: HubState): StepContext {
  const tags = new Map<string, string>([[keyOf.tools, state.tools.tag]]);
  for (const [id, { tag }] of state.contracts) tags.set(keyOf.contract(id), tag);
  for (const [name, { tag }] of state.compositions) tags.set(keyOf.composition(name), tag);
  return {
    hub,
    tags,
    versions: new Map([...state.contracts].map(([id, { version }]) => [id, version])),
    bundles: new Map([...state.bundles].map(([name, { versions }]) => [name, new Map(versions)])),
    deployed: new Map([...state.deployments].map(([slot, { hash }]) => [slot, hash])),
  };
}

const changed = (key: string): HubError =>
  new HubError('changed', `The ${key} changed on the hub while this ran. Run the command again.`);

/** The answer to a creation; what exists by now was created by somebody else. */
async function created<T>(key: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof HubError && error.code === 'conflict') throw changed(key);
    throw error;
  }
}

type Plain = Pick<ApplyStep, 'note' | 'isPruning'>;
const plain: Plain = { note: '', isPruning: false };
const pruning: Plain = { note: 'only on the hub', isPruning: true };
const hold = snakeKeys({ autoDeploy: 'hold' } as const);

export function saveContract(id: string, content: ContractContent, hash: string, isNew: boolean): ApplyStep {
  const key = keyOf.contract(id);
  return {
    ...plain,
    action: isNew ? 'create' : 'update',
    key,
    after: hash,
    async run({ hub, tags, versions }) {
      const { type, ...fields } = content;
      const saved = isNew
        ? await created(
            key,
            hub.write((it) =>
              it.createContract({ query: hold, body: snakeKeys({ contractId: id, type, ...fields }) }),
            ),
          )
        : await hub.write((it) =>
            it.updateContract(
              { params: snakeKeys({ contractId: id }), query: hold, body: fields },
              condition(tags, key),
            ),
          );
      tags.set(key, saved.id);
      versions.set(id, saved.version);
    },
  };
}

const condition = (tags: ReadonlyMap<string, string>, key: string) => ({ ifMatch: tags.get(key) ?? '0' });

export function saveComposition(
  name: string,
  content: CompositionContent,
  hash: string,
  isNew: boolean,
  note: string,
): ApplyStep {
  const key = keyOf.composition(name);
  return {
    ...plain,
    note,
    action: isNew ? 'create' : 'update',
    key,
    after: hash,
    async run({ hub, tags, versions }) {
      const contracts = content.contracts.map(({ revision: _revision, ...item }) => item);
      const body = compositionForm({ ...content, contracts });
      const saved = isNew
        ? await created(
            key,
            hub.write((it) => it.createComposition({ query: hold, body: { name, ...body } })),
          )
        : await hub.write((it) =>
            it.updateComposition({ params: { name }, query: hold, body }, condition(tags, key)),
          );
      tags.set(key, saved.updated_at);
      for (const item of saved.contracts) {
        const { contractId, contractVersion } = camelKeys(item);
        if (contractVersion !== versions.get(contractId)) throw changed(keyOf.contract(contractId));
      }
    },
  };
}

export const uploadBundle = (hash: string, { name, text }: BundleOfFile): ApplyStep => ({
  ...plain,
  action: 'upload',
  key: keyOf.revision(name, hash),
  after: hash,
  async run({ hub, bundles }) {
    const { version } = await hub.write((it) => it.uploadBundle({ body: snakeKeys({ yamlContent: text }) }));
    bundles.set(name, (bundles.get(name) ?? new Map<string, number>()).set(hash, version));
  },
});

export const createRule = (content: RuleContent, hash: string): ApplyStep => ({
  ...plain,
  note: `${content.pattern} gets ${content.bundleName} in ${content.env}`,
  action: 'create',
  key: keyOf.rule(content.priority),
  after: hash,
  async run({ hub }) {
    await created(
      keyOf.rule(content.priority),
      hub.write((it) => it.createRule({ body: snakeKeys(content) })),
    );
  },
});

export const updateRule = (before: HubRule, content: RuleContent, hash: string): ApplyStep => ({
  ...plain,
  note: `${content.pattern} gets ${content.bundleName} in ${content.env}`,
  action: 'update',
  key: keyOf.rule(content.priority),
  after: hash,
  async run({ hub }) {
    const params = snakeKeys({ ruleId: before.id });
    await hub.write((it) => it.updateRule({ params, body: snakeKeys(content) }, { ifMatch: before.tag }));
  },
});

export const deleteRule = ({ id, content, tag }: HubRule): ApplyStep => ({
  ...pruning,
  action: 'delete',
  key: keyOf.rule(content.priority),
  after: null,
  async run({ hub }) {
    await hub.write((it) => it.deleteRule({ params: snakeKeys({ ruleId: id }) }, { ifMatch: tag }));
  },
});

export const saveTools = (content: Partial<ToolsContent>, hash: string): ApplyStep => ({
  ...plain,
  action: 'update',
  key: keyOf.tools,
  after: hash,
  async run({ hub, tags }) {
    // The file's checks are those of the route.
    const body = snakeKeys(content) as PutToolSettingsRequest;
    await hub.write((it) => it.putToolSettings({ body }, condition(tags, keyOf.tools)));
  },
});

export const deleteContract = (id: string): ApplyStep => ({
  ...pruning,
  action: 'delete',
  key: keyOf.contract(id),
  after: null,
  async run({ hub, tags }) {
    const params = snakeKeys({ contractId: id });
    await hub.write((it) => it.deleteContract({ params }, condition(tags, keyOf.contract(id))));
  },
});

export const deleteComposition = (name: string): ApplyStep => ({
  ...pruning,
  action: 'delete',
  key: keyOf.composition(name),
  after: null,
  async run({ hub, tags }) {
    await hub.write((it) =>
      it.deleteComposition({ params: { name } }, condition(tags, keyOf.composition(name))),
    );
  },
});

export const deleteBundle = (name: string, latest: number): ApplyStep => ({
  ...pruning,
  action: 'delete',
  key: keyOf.bundle(name),
  after: null,
  async run({ hub }) {
    await hub.write((it) => it.deleteBundle({ params: { name } }, { ifMatch: String(latest) }));
  },
});

export const undeploy = ({ env, bundle }: HubDeployment): ApplyStep => ({
  ...pruning,
  action: 'undeploy',
  key: keyOf.deployment(slotOf(env, bundle)),
  after: null,
  async run({ hub, deployed }) {
    const query = snakeKeys({ env, bundleName: bundle });
    const ifMatch = deployed.get(slotOf(env, bundle)) ?? '0';
    await hub.write((it) => it.undeployBundle({ query }, { ifMatch }));
  },
});

type Target = Pick<HubDeployment, 'env' | 'bundle'>;

async function deployVersion(
  { hub, deployed }: StepContext,
  { env, bundle }: Target,
  version: number,
  hash: string,
) {
  const slot = slotOf(env, bundle);
  const params = { name: bundle, version };
  const ifMatch = deployed.get(slot) ?? '0';
  await hub.write((it) => it.deployBundle({ params, body: { env } }, { ifMatch }));
  deployed.set(slot, hash);
}

export const deployRevision = (target: Target, hash: string): ApplyStep => ({
  ...plain,
  note: hash.slice(0, 12),
  action: 'deploy',
  key: keyOf.deployment(slotOf(target.env, target.bundle)),
  after: hash,
  async run(context) {
    const version = context.bundles.get(target.bundle)?.get(hash);
    if (version === undefined) throw changed(keyOf.revision(target.bundle, hash));
    await deployVersion(context, target, version, hash);
  },
});

/** A version that is what the composition becomes is deployed again, so that environments run one version. */
export const deployComposition = (target: Target, after: string, isAutomatic: boolean): ApplyStep => ({
  ...plain,
  note: isAutomatic ? 'the composition, by auto_deploy' : 'the composition',
  action: 'deploy',
  key: keyOf.deployment(slotOf(target.env, target.bundle)),
  after,
  async run(context) {
    const { hub, tags, deployed, bundles } = context;
    const { env, bundle: name } = target;
    const slot = slotOf(env, name);
    const preview = await previewOf(hub, name);
    const { updatedAt: tag } = camelKeys(await hub.read((it) => it.getComposition({ params: { name } })));
    if (tag !== tags.get(keyOf.composition(name))) throw changed(keyOf.composition(name));
    if (preview !== null && deployed.get(slot) === preview.hash) return;
    const existing = preview === null ? undefined : bundles.get(name)?.get(preview.hash);
    if (preview !== null && existing !== undefined)
      return deployVersion(context, target, existing, preview.hash);
    const ifMatch = deployed.get(slot) ?? '0';
    const { bundleVersion: version } = camelKeys(
      await hub.write((it) => it.deployComposition({ params: { name }, body: { env } }, { ifMatch })),
    );
    const storedVersion = await hub.read((it) => it.getBundleVersion({ params: { name, version } }));
    if (preview !== null && storedVersion.revision_hash !== preview.hash)
      throw changed(keyOf.composition(name));
    bundles.set(
      name,
      (bundles.get(name) ?? new Map<string, number>()).set(storedVersion.revision_hash, version),
    );
    deployed.set(slot, storedVersion.revision_hash);
  },
});
