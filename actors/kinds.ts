// The hub's actor kinds in one table, for createActors, and the deadlines that the sweep watches for them.
import type { Store } from '../src/ports/store.ts';
import { agent } from './agent.ts';
import { environment } from './environment.ts';
import { environmentKey, tellTo } from './protocol.ts';
import type { Tell } from './runtime/define.ts';
import { tenant } from './tenant.ts';

export const hubKinds = { environment, agent, tenant };

/** `due` for startSweep: approvals past their deadline, as messages to their environments; at most `limit` a sweep. */
export const dueApprovals =
  (store: Pick<Store, 'approvals'>, limit = 500) =>
  async (now: number): Promise<readonly Tell[]> =>
    (await store.approvals.due(now, limit)).map(({ tenantId, env, id }) =>
      tellTo('environment', environmentKey(tenantId, env), 'expireApproval', { id }),
    );
