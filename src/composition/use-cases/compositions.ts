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

export class Compositions {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** @throws HubError not_found */
  async get(principal: Principal, name: string): Promise<CompositionView> {
    return this.#viewOf(await this.#find(principal, name));
  }

  list({ tenantId }: Principal, page: PageRequest): Promise<Page<CompositionSummary>> {
    return this.#ports.store.compositions.list(tenantId, page);
  }

  /** The document that a deployment would send to agents, with its findings. @throws HubError not_found */
  async preview(
    principal: Principal,
    name: string,
  ): Promise<{ readonly assembly: Assembly; readonly warnings: readonly Finding[] }> {
    const assembly = await this.#assemble(await this.#find(principal, name));
    // Without a text there is nothing to look at.
    const warnings =
      assembly.yaml === '' ? [] : await this.#ports.inspector.inspect(principal.tenantId, assembly.yaml);
    return { assembly, warnings };
  }

  /** @throws HubError forbidden, unprocessable (an unknown contract) */
  async create(principal: Principal, newComposition: NewComposition): Promise<CompositionView | 'exists'> {
    const { clock, secrets, releases } = this.#ports;
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const now = clock.now();
    const details = changeBy(this.#ports, null, newComposition);
    const created = await recorded(this.#ports, 'composition', principal, 'created', newComposition.name, {
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
    return this.#viewOf(created);
  }

  /**
   * @throws HubError forbidden, not_found, changed, conflict (ifUpdatedAt), unprocessable (an unknown contract)
   */
  async update(
    principal: Principal,
    name: string,
    patch: CompositionPatch,
    { ifMatch, ifUpdatedAt }: ReplacedState = anyState,
  ): Promise<CompositionView> {
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const before = await this.#viewOf(await this.#find(principal, name));
    const matched = await this.#matchedTime(tenantId, name, ifMatch);
    const details = changeBy(this.#ports, { ...before.composition, items: before.items }, patch);
    const noting = recorded(this.#ports, 'composition', principal, 'updated', name, { details });
    const state = ifUpdatedAt ?? matched;
    const updated = await noting.compositions.update(tenantId, name, patch, this.#ports.clock.now(), state);
    if (updated === 'absent') throw absent(name);
    if (updated === 'changed' && ifUpdatedAt === undefined) throw changed(subjectOf(name));
    if (updated === 'changed') {
      throw new HubError(
        'conflict',
        `Composition '${name}' has changed since you read it. Read it again and repeat the change.`,
      );
    }
    if ('unknownContract' in updated) throw unknownContract(updated.unknownContract);
    await this.#ports.releases.compositionChanged(tenantId, name);
    return this.#viewOf(updated);
  }

  /** True when the composition should be deployed by itself, and runs anywhere. */
  isLive(composition: Composition): Promise<boolean> {
    return this.#ports.rollouts.isLive(composition);
  }

  /** @throws HubError forbidden, not_found, changed */
  async remove(principal: Principal, name: string, ifMatch: IfMatch = null): Promise<void> {
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const ifUpdatedAt = await this.#matchedTime(tenantId, name, ifMatch);
    const before = await this.#viewOf(await this.#find(principal, name));
    const { defaultsMode, updateStrategy } = before.composition;
    const details = changeBy(this.#ports, { defaultsMode, updateStrategy, items: before.items }, null);
    const noting = recorded(this.#ports, 'composition', principal, 'deleted', name, { details });
    const removed = await noting.compositions.remove(tenantId, name, ifUpdatedAt);
    if (removed === 'changed') throw changed(subjectOf(name));
    if (!removed) throw absent(name);
    await this.#ports.releases.compositionChanged(tenantId, name);
  }

  /**
   * @throws HubError forbidden, not_found, unprocessable (with everything found), and what the environment throws
   */
  async deploy(
    principal: Principal,
    name: string,
    env: Env,
    how: DeployChoice,
  ): Promise<Release & { readonly assembly: Assembly }> {
    if (how.force) requireRole(principal, 'admin');
    await this.#ports.environments.requireChange(principal, [env]);
    const composition = await this.#find(principal, name);
    const assembly = await this.#assemble(composition);
    requireAssembled(assembly);
    const target = { env, ifMatch: how.ifMatch ?? null };
    const release = await this.#ports.releases.deploy(principal, composition, assembly, [target], how);
    return { assembly, ...release };
  }

  async #viewOf(composition: Composition): Promise<CompositionView> {
    const { tenantId, name } = composition;
    return { composition, items: await this.#ports.store.compositions.listItems(tenantId, name) };
  }

  async #find({ tenantId }: Principal, name: string): Promise<Composition> {
    const composition = await this.#ports.store.compositions.get(tenantId, name);
    if (!composition) throw absent(name);
    return composition;
  }

  /** Returns the time of the last change; undefined without a condition. @throws HubError changed */
  async #matchedTime(tenantId: string, name: string, ifMatch: IfMatch): Promise<number | undefined> {
    if (ifMatch === null) return undefined;
    const composition = await this.#ports.store.compositions.get(tenantId, name);
    requireMatch(ifMatch, composition ? [timeTag(composition.updatedAt)] : [], subjectOf(name));
    return composition?.updatedAt;
  }

  async #assemble(composition: Composition): Promise<Assembly> {
    const { assembler, store } = this.#ports;
    const items = await store.compositions.listEnabledItems(composition.tenantId, composition.name);
    return assembler.assemble(composition, items);
  }
}
