// Compositions: save, preview, deploy. assembly.ts writes the YAML, and the environment's actor runs deployments.
import { changeBy, recorded } from '../../audit/note.ts';
import type { Finding } from '../../bundle/rules/finding.ts';
import type { Inspector } from '../../bundle/use-cases/inspection.ts';
import type { DeployChoice } from '../../deployment/use-cases/deployments.ts';
import type { Assembly } from '../../evaluation/port/evaluator.ts';
import { requireRole } from '../../shared/access.ts';
import { HubError, notFound } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import { changed, type IfMatch, requireMatch, timeTag } from '../../shared/if-match.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Environments } from '../../tenant/use-cases/environments.ts';
import type { CompositionPatch, ItemSummary } from '../port.ts';
import type { Composition, CompositionItem, CompositionSummary } from '../record.ts';
import { type Assembler, requireAssembled } from './assembly.ts';
import type { Release, Releases } from './releases.ts';
import type { Rollouts } from './rollouts.ts';

export type NewComposition = Pick<
  Composition,
  | 'name'
  | 'description'
  | 'defaultsMode'
  | 'updateStrategy'
  | 'documentKind'
  | 'toolsConfig'
  | 'observability'
> & { readonly items: readonly Omit<CompositionItem, 'version'>[] };

/** A composition with what the library knows of its contracts. */
export interface CompositionView {
  readonly composition: Composition;
  readonly items: readonly ItemSummary[];
}

/** The state that an update replaces. */
export interface ReplacedState {
  /** The time of its last change. */
  readonly ifMatch: IfMatch;
  /** The same in epoch milliseconds; a mismatch is a conflict. Undefined: any. */
  readonly ifUpdatedAt: number | undefined;
}

export interface Compositions {
  list(principal: Principal, page: PageRequest): Promise<Page<CompositionSummary>>;
  /** @throws HubError forbidden, unprocessable (an unknown contract) */
  create(principal: Principal, newComposition: NewComposition): Promise<CompositionView | 'exists'>;
  /** @throws HubError not_found */
  get(principal: Principal, name: string): Promise<CompositionView>;
  /**
   * @throws HubError forbidden, not_found, changed, conflict (ifUpdatedAt), unprocessable (an unknown contract)
   */
  update(
    principal: Principal,
    name: string,
    patch: CompositionPatch,
    replaced?: ReplacedState,
  ): Promise<CompositionView>;
  /** @throws HubError forbidden, not_found, changed */
  remove(principal: Principal, name: string, ifMatch?: IfMatch): Promise<void>;
  /** True when the composition should be deployed by itself, and runs anywhere. */
  isLive(composition: Composition): Promise<boolean>;
  /** The document that a deployment would send to agents, with its findings. @throws HubError not_found */
  preview(
    principal: Principal,
    name: string,
  ): Promise<{ readonly assembly: Assembly; readonly warnings: readonly Finding[] }>;
  /**
   * @throws HubError forbidden, not_found, unprocessable (with everything found), and what the environment throws
   */
  deploy(
    principal: Principal,
    name: string,
    env: Env,
    how: DeployChoice,
  ): Promise<Release & { readonly assembly: Assembly }>;
}

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets'> & {
  readonly assembler: Assembler;
  readonly releases: Releases;
  readonly rollouts: Pick<Rollouts, 'isLive'>;
  readonly inspector: Inspector;
  readonly environments: Pick<Environments, 'requireChange'>;
};

const subjectOf = (name: string): string => `Composition '${name}'`;
const absent = (name: string): HubError => notFound(`Composition '${name}' not found`);
const anyState: ReplacedState = { ifMatch: null, ifUpdatedAt: undefined };
const unknownContract = (id: string): HubError => new HubError('unprocessable', `Contract '${id}' not found`);

export const createCompositions = (ports: Ports): Compositions => ({
  get: async (principal, name) => viewOf(ports, await find(ports, principal, name)),
  list: ({ tenantId }, page) => ports.store.compositions.list(tenantId, page),

  async preview(principal, name) {
    const assembly = await assemble(ports, await find(ports, principal, name));
    // Without a text there is nothing to look at.
    const warnings =
      assembly.yaml === '' ? [] : await ports.inspector.inspect(principal.tenantId, assembly.yaml);
    return { assembly, warnings };
  },

  async create(principal, newComposition) {
    const { clock, secrets, releases } = ports;
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const now = clock.now();
    const details = changeBy(ports, null, newComposition);
    const created = await recorded(ports, 'composition', principal, 'created', newComposition.name, {
      details,
    }).compositions.create({
      ...newComposition,
      id: secrets.uuid(),
      tenantId,
      createdBy: actorName(principal.actor),
      createdAt: now,
      updatedAt: now,
    });
    if (created === 'exists') return 'exists';
    if ('unknownContract' in created) throw unknownContract(created.unknownContract);
    await releases.compositionChanged(tenantId, created.name);
    return viewOf(ports, created);
  },

  async update(principal, name, patch, { ifMatch, ifUpdatedAt } = anyState) {
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const before = await viewOf(ports, await find(ports, principal, name));
    const matched = await matchedTime(ports, tenantId, name, ifMatch);
    const details = changeBy(ports, { ...before.composition, items: before.items }, patch);
    const noting = recorded(ports, 'composition', principal, 'updated', name, { details });
    const state = ifUpdatedAt ?? matched;
    const updated = await noting.compositions.update(tenantId, name, patch, ports.clock.now(), state);
    if (updated === 'absent') throw absent(name);
    if (updated === 'changed' && ifUpdatedAt === undefined) throw changed(subjectOf(name));
    if (updated === 'changed') {
      throw new HubError(
        'conflict',
        `Composition '${name}' has changed since you read it. Read it again and repeat the change.`,
      );
    }
    if ('unknownContract' in updated) throw unknownContract(updated.unknownContract);
    await ports.releases.compositionChanged(tenantId, name);
    return viewOf(ports, updated);
  },

  isLive: (composition) => ports.rollouts.isLive(composition),

  async remove(principal, name, ifMatch = null) {
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const ifUpdatedAt = await matchedTime(ports, tenantId, name, ifMatch);
    const before = await viewOf(ports, await find(ports, principal, name));
    const { defaultsMode, updateStrategy } = before.composition;
    const details = changeBy(ports, { defaultsMode, updateStrategy, items: before.items }, null);
    const noting = recorded(ports, 'composition', principal, 'deleted', name, { details });
    const removed = await noting.compositions.remove(tenantId, name, ifUpdatedAt);
    if (removed === 'changed') throw changed(subjectOf(name));
    if (!removed) throw absent(name);
    await ports.releases.compositionChanged(tenantId, name);
  },

  async deploy(principal, name, env, how) {
    if (how.force) requireRole(principal, 'admin');
    await ports.environments.requireChange(principal, [env]);
    const composition = await find(ports, principal, name);
    const assembly = await assemble(ports, composition);
    requireAssembled(assembly);
    return { assembly, ...(await ports.releases.release(principal, composition, assembly, [env], how)) };
  },
});

const viewOf = async ({ store }: Ports, composition: Composition): Promise<CompositionView> => ({
  composition,
  items: await store.compositions.items(composition.tenantId, composition.name),
});

async function find({ store }: Ports, { tenantId }: Principal, name: string): Promise<Composition> {
  const composition = await store.compositions.get(tenantId, name);
  if (!composition) throw absent(name);
  return composition;
}

/** Returns the time of the last change; undefined without a condition. @throws HubError changed */
async function matchedTime(
  { store }: Ports,
  tenantId: string,
  name: string,
  ifMatch: IfMatch,
): Promise<number | undefined> {
  if (ifMatch === null) return undefined;
  const composition = await store.compositions.get(tenantId, name);
  requireMatch(ifMatch, composition ? [timeTag(composition.updatedAt)] : [], subjectOf(name));
  return composition?.updatedAt;
}

const assemble = async ({ assembler, store }: Ports, composition: Composition): Promise<Assembly> =>
  assembler.assemble(
    composition,
    await store.compositions.enabledItems(composition.tenantId, composition.name),
  );
