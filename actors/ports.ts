// Ports of the hub's actors. Holds no logic.
import type { SeenRegistration } from '../src/agent/port.ts';
import type { RuleSets } from '../src/agent/rules/assignment.ts';
import type { Env } from '../src/shared/ids.ts';
import type { Meters } from '../src/shared/meters.ts';
import type { Secrets } from '../src/shared/ports/secrets.ts';
import type { Store } from '../src/shared/ports/store.ts';
import type { SeenOn } from '../src/shared/vocabulary.ts';

export interface ActorPorts {
  readonly store: Pick<
    Store,
    | 'agents'
    | 'agentStreams'
    | 'approvals'
    | 'bundles'
    | 'channels'
    | 'deployments'
    | 'rules'
    | 'signing'
    | 'noting'
  >;
  readonly secrets: Pick<Secrets, 'uuid' | 'newSigningKey' | 'seal' | 'unseal' | 'sign' | 'sha256'>;
  /** True for a node of the cluster that died: its streams are no more. Always false in one process. */
  readonly isGone: (node: string) => boolean;
  /**
   * Notes that an agent was seen, and registers it within its caps; null, or a retired one, when it is not registered.
   */
  readonly registrar: {
    noteSeen(
      source: {
        readonly tenantId: string;
        readonly env: Env;
        readonly keyId: string;
        readonly on: SeenOn;
      },
      agentId: string,
    ): Promise<SeenRegistration | null>;
  };
  /** Assignment rules, compiled. */
  readonly ruleSets: Pick<RuleSets, 'of'>;
  readonly meters: Pick<Meters, 'approvals' | 'approvalWaits'>;
}
