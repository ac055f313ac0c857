// Deployments in the console API's words.

import { List } from '../../http/contract/call.ts';
import { openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso, isoOrNull } from '../../http/contract/render.ts';
import { ifMatchOf } from '../../shared/if-match.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { deploymentRecord } from '../record.ts';
import type { deploymentRoutes } from './routes.ts';

export const deployments: Handlers<typeof deploymentRoutes> = {
  async undeployBundle({ app }, { query }, caller, request) {
    const ifMatch = ifMatchOf(request.header('if-match'));
    await app.deployments.undeploy(principalOf(caller), query.env, query.bundle_name, ifMatch);
    return null;
  },

  async deploymentRollout(hub, { params, query }, caller) {
    const { limit, cursor } = query;
    const scope = { tenantId: caller.tenantId, list: 'rollout' } as const;
    const after = cursor === undefined ? null : openCursor(hub, scope, cursor);
    const rollout = await hub.app.deployments.rollout(principalOf(caller), params.deployment_id, {
      limit,
      after,
    });
    const last = rollout.more ? rollout.rest.at(-1) : undefined;
    return {
      deployment: deploymentRecord.render('console', rollout.deployment),
      current: rollout.isCurrent,
      connected: rollout.connected,
      running: rollout.running,
      behind: rollout.behind,
      unknown: rollout.unknown,
      versions: rollout.versions.map(({ policyVersion, agents }) => ({
        policy_version: policyVersion,
        version: rollout.versionOf(policyVersion),
        agents,
      })),
      agents: rollout.rest.map(({ agentId, policyVersion, connectedAt }) => ({
        agent_id: agentId,
        policy_version: policyVersion,
        version: rollout.versionOf(policyVersion),
        connected_at: iso(connectedAt),
      })),
      next_cursor: last ? sealCursor(hub, scope, last.agentId) : null,
    };
  },

  async listDeployments(hub, { query }, caller) {
    const { env, bundle_name: bundleName, since, until, limit, offset, cursor } = query;
    const scope = { tenantId: caller.tenantId, list: 'deployments' } as const;
    const after = cursor === undefined ? null : openCursor(hub, scope, cursor);
    const filter = omitUndefined({ env, bundleName, since, until });
    const { items, more } = await hub.app.deployments.list(principalOf(caller), filter, {
      limit,
      offset,
      after,
    });
    return new List(
      items.map((item) => ({
        ...deploymentRecord.render('console', item),
        kind: item.isRollback ? ('rollback' as const) : ('deploy' as const),
        undeployed_at: isoOrNull(item.undeployedAt),
        undeployed_by: item.undeployedBy,
      })),
      (sent) => {
        const last = sent < items.length || more ? items[sent - 1] : undefined;
        if (!last) return null;
        // A client that pages by offset continues by offset.
        if (offset > 0 && after === null) return { offset: offset + sent };
        return { cursor: sealCursor(hub, scope, last.id), limit, offset: 0 };
      },
    );
  },
};
