// The hub's actor kinds in one table, for createActors, and the deadlines that the sweep watches for them.
import type { Store } from '../src/shared/ports/store.ts';
import { agent } from './agent.ts';
import { environment } from './environment.ts';
import { environmentKey, tellTo } from './protocol.ts';
import type { Tell } from './runtime/define.ts';
import { tenant } from './tenant.ts';

export const hubKinds = { environment, agent, tenant };

/** Until then the owner that wrote it is given time to announce it. */
const announceLateMs = 2000;

/**
 * The oldest page, and when that is full a further one, which moves on with every call. Old entries that cannot be
 * handled must not hide the rest, which may belong to other tenants.
 */
function turning<T>(limit: number, page: (at: number, skip: number) => Promise<readonly T[]>) {
  let skip = limit;
  return async (at: number): Promise<readonly T[]> => {
    const oldest = await page(at, 0);
    const further = oldest.length < limit ? [] : await page(at, skip);
    skip = further.length < limit ? limit : skip + limit;
    return [...oldest, ...further];
  };
}

/**
 * `due` for startSweep: approvals past their deadline, and those not announced, as messages to their environments; at
 * most twice `limit` of each a sweep.
 */
export function dueApprovals({ approvals }: Pick<Store, 'approvals'>, limit = 500) {
  const allDue = turning(limit, (at, skip) => approvals.listDue(at, limit, skip));
  const allSilent = turning(limit, (at, skip) => approvals.listUnannounced(at, limit, skip));
  return async (now: number): Promise<readonly Tell[]> => {
    const [due, silent] = await Promise.all([allDue(now), allSilent(now - announceLateMs)]);
    return [
      ...due.map(({ tenantId, env, id }) =>
        tellTo('environment', environmentKey(tenantId, env), 'expireApproval', { id }),
      ),
      ...silent.map(({ tenantId, env, id }) =>
        tellTo('environment', environmentKey(tenantId, env), 'announceApproval', { id }),
      ),
    ];
  };
}
