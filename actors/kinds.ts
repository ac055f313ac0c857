// The hub's actor kinds in one table, for createActors, and the deadlines that the sweep watches for them.
import type { Store } from '../src/ports/store.ts';
import { agent } from './agent.ts';
import { environment } from './environment.ts';
import { environmentKey, tellTo } from './protocol.ts';
import type { Tell } from './runtime/define.ts';
import { tenant } from './tenant.ts';

export const hubKinds = { environment, agent, tenant };

/** Until then the owner that wrote it is given time to announce it. */
const announceLateMs = 2000;

/** `due` for startSweep: approvals past their deadline, and those not announced, as messages to their environments; at most `limit` of each a sweep. */
export const dueApprovals =
  (store: Pick<Store, 'approvals'>, limit = 500) =>
  async (now: number): Promise<readonly Tell[]> => {
    const { approvals } = store;
    const [due, silent] = await Promise.all([
      approvals.due(now, limit),
      approvals.unannounced(now - announceLateMs, limit),
    ]);
    return [
      ...due.map(({ tenantId, env, id }) =>
        tellTo('environment', environmentKey(tenantId, env), 'expireApproval', { id }),
      ),
      ...silent.map(({ tenantId, env, id }) =>
        tellTo('environment', environmentKey(tenantId, env), 'announceApproval', { id }),
      ),
    ];
  };
