// `auto_deploy` (document 3 §5.3): a new version of a contract goes where its compositions run now. Never touches a manual one.
import { HubError } from '../domain/error.ts';
import { type Env, environments } from '../domain/ids.ts';
import type { Composition } from '../domain/library.ts';
import { assemble, latestOf, requireValid } from './assembly.ts';
import type { Hub } from './hub.ts';
import { compositionChanged, release } from './release.ts';

/** Compositions that one new version rolls out to while its caller waits; further ones stay pinned and are announced as changed. */
export const maxRollouts = 20;

/**
 * Re-pins, assembles, validates and deploys each `auto_deploy` composition that names the contract, to the environments it runs in.
 * The new version is stored already, so a failure is not the caller's: the composition stays as it was and is announced as changed.
 */
export async function rollOut(hub: Hub, tenantId: string, contractId: string): Promise<void> {
  let running = 0;
  for (const name of await hub.store.compositions.automatic(tenantId, contractId)) {
    const current = await Promise.all(
      environments.map((env) => hub.store.deployments.currentOf(tenantId, env, name)),
    );
    const envs = current.flatMap((deployment) => (deployment ? [deployment.env] : []));
    if (envs.length === 0) continue;
    try {
      if (++running > maxRollouts)
        throw new HubError('overloaded', `More than ${maxRollouts} compositions at once.`);
      const composition = await hub.store.compositions.get(tenantId, name);
      if (composition) await rollOutOne(hub, composition, envs);
    } catch (error) {
      hub.log.warn({ err: error, tenantId, composition: name, contractId }, 'auto_deploy left a composition');
      await compositionChanged(hub, tenantId, name);
    }
  }
}

async function rollOutOne(hub: Hub, before: Composition, envs: readonly Env[]): Promise<void> {
  const { tenantId, name } = before;
  const candidate = await latestOf(hub, tenantId, await hub.store.compositions.items(tenantId, name));
  // Checked before it is pinned, so that what cannot run is not pinned either.
  requireValid(await assemble(hub, before, candidate));
  const composition = await hub.store.compositions.update(
    tenantId,
    name,
    { items: before.items.map(({ version: _pinned, ...item }) => item) },
    hub.clock.now(),
    before.updatedAt,
  );
  if (typeof composition === 'string' || 'unknownContract' in composition) {
    throw new HubError('conflict', 'It was changed meanwhile.');
  }
  // Assembled again from what was pinned: yet another version may have come between.
  const assembly = await assemble(hub, composition, await hub.store.compositions.items(tenantId, name));
  requireValid(assembly);
  await release(hub, composition, assembly, envs, 'system:auto_deploy');
}
