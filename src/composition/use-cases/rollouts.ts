// `auto_deploy`: a new version of a contract goes where its compositions run now. Never touches a manual composition.
import { changeBy, recorded } from '../../audit/note.ts';
import { requireDeployable } from '../../bundle/rules/deployable.ts';
import type { Inspector } from '../../bundle/use-cases/inspection.ts';
import type { Deployment } from '../../deployment/record.ts';
import { HubError } from '../../shared/error.ts';
import { type Env, environments } from '../../shared/ids.ts';
import { type Principal, systemPrincipal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Environments } from '../../tenant/use-cases/environments.ts';
import type { Composition } from '../record.ts';
import { type Assembler, requireAssembled } from './assembly.ts';
import type { Releases } from './releases.ts';

/**
 * Compositions that one new version rolls out to while its caller waits; further ones stay pinned and are announced as
 * changed.
 */
export const maxRollouts = 20;

export interface Rollouts {
  /**
   * Re-pins, assembles, validates and deploys each `auto_deploy` composition that names the contract, to the
   * environments it runs in. The new version is stored already, so a failure is not the caller's: the composition stays
   * as it was and is announced as changed.
   * @returns true when a composition was not deployed everywhere it runs: it failed, or the author of the version may
   *   not change an environment
   */
  rollOut(author: Principal, contractId: string): Promise<boolean>;
  /** True when an `auto_deploy` composition that names the contract runs anywhere. */
  isFollowed(tenantId: string, contractId: string): Promise<boolean>;
  /** True when the composition has the strategy `auto_deploy` and runs anywhere. */
  isLive(composition: Pick<Composition, 'tenantId' | 'name' | 'updateStrategy'>): Promise<boolean>;
}

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets' | 'log'> & {
  readonly assembler: Assembler;
  readonly releases: Releases;
  readonly inspector: Inspector;
  readonly environments: Pick<Environments, 'mayChange'>;
};

export const createRollouts = (ports: Ports): Rollouts => ({
  async isFollowed(tenantId, contractId) {
    for (const name of await ports.store.compositions.listAutomatic(tenantId, contractId))
      if ((await runningIn(ports, tenantId, name)).length > 0) return true;
    return false;
  },

  isLive: async ({ tenantId, name, updateStrategy }) =>
    updateStrategy === 'auto_deploy' && (await runningIn(ports, tenantId, name)).length > 0,

  async rollOut(author, contractId) {
    const { store, log, releases } = ports;
    const { tenantId } = author;
    const allowed = await allowedTo(ports, author);
    let isHeld = false;
    let count = 0;
    for (const name of await store.compositions.listAutomatic(tenantId, contractId)) {
      const all = await runningIn(ports, tenantId, name);
      const running = all.filter(({ env }) => allowed.has(env));
      isHeld ||= running.length < all.length;
      if (running.length === 0) continue;
      try {
        if (++count > maxRollouts)
          throw new HubError('overloaded', `More than ${maxRollouts} compositions need a rollout.`);
        await rollOutWhere(ports, author, name, running);
      } catch (error) {
        isHeld = true;
        log.warn(
          { err: error, tenantId, composition: name, contractId },
          'auto_deploy skipped a composition',
        );
        await releases.compositionChanged(tenantId, name);
      }
    }
    return isHeld;
  },
});

const nameOfHub = 'auto_deploy';

/** Rolls out once more if the rollout of another save came in between. An undeploy or a rollback by a person holds. */
async function rollOutWhere(
  ports: Ports,
  author: Principal,
  name: string,
  running: readonly Deployment[],
): Promise<void> {
  const attempt = async (targets: readonly Deployment[]): Promise<void> => {
    const composition = await ports.store.compositions.get(author.tenantId, name);
    if (composition) await rollOutOne(ports, author, composition, targets);
  };
  try {
    await attempt(running);
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'changed') throw error;
    const targets = (await runningIn(ports, author.tenantId, name)).filter(({ env }) =>
      running.some((one) => one.env === env),
    );
    const isOwn = ({ id, deployedBy }: Deployment): boolean =>
      deployedBy === `system:${nameOfHub}` || running.some((one) => one.id === id);
    if (targets.length < running.length || !targets.every(isOwn)) throw error;
    await attempt(targets);
  }
}

async function rollOutOne(
  ports: Ports,
  author: Principal,
  before: Composition,
  running: readonly Deployment[],
): Promise<void> {
  const { assembler, store, inspector, releases } = ports;
  const { tenantId, name } = before;
  const by = rolloutPrincipal(author);
  const candidate = await assembler.getLatest(
    tenantId,
    await store.compositions.listEnabledItems(tenantId, name),
  );
  // Checked before it is pinned, so that what cannot run is not pinned either.
  const planned = await assembler.assemble(before, candidate);
  requireAssembled(planned);
  requireDeployable(await inspector.inspect(tenantId, planned.yaml));
  const patch = { items: before.items.map(({ version: _pinned, ...item }) => item) };
  const summaries = await store.compositions.listItems(tenantId, name);
  const latest = new Map(summaries.map((item) => [item.contractId, item.latestVersion]));
  const pinned = before.items.map((item) => ({
    ...item,
    version: latest.get(item.contractId) ?? item.version,
  }));
  const details = changeBy(ports, before, { items: pinned });
  const { compositions } = recorded(ports, 'composition', by, 'updated', name, { details });
  const composition = await compositions.update(tenantId, name, patch, ports.clock.now(), before.updatedAt);
  if (typeof composition === 'string' || 'unknownContract' in composition) {
    throw new HubError('conflict', 'The composition changed during the rollout.');
  }
  // Assembled again from what was pinned: yet another version may have come between.
  const assembly = await assembler.assemble(
    composition,
    await store.compositions.listEnabledItems(tenantId, name),
  );
  requireAssembled(assembly);
  // A change of an environment since then holds.
  const targets = running.map(({ env, version }) => ({ env, ifMatch: [String(version)] }));
  await releases.deploy(by, composition, assembly, targets);
}

/** The hub's own name in the records of a roll-out, with the request that caused it. */
const rolloutPrincipal = ({ tenantId, request }: Principal): Principal => ({
  ...systemPrincipal(tenantId, nameOfHub),
  ...(request === undefined ? {} : { request }),
});

const runningIn = async (
  { store }: Ports,
  tenantId: string,
  name: string,
): Promise<readonly Deployment[]> => {
  const current = environments.map((env) => store.deployments.getCurrent(tenantId, env, name));
  return (await Promise.all(current)).flatMap((deployment) => (deployment ? [deployment] : []));
};

async function allowedTo(ports: Ports, author: Principal): Promise<ReadonlySet<Env>> {
  const may = await Promise.all(environments.map((env) => ports.environments.mayChange(author, env)));
  return new Set(environments.filter((_, i) => may[i]));
}
