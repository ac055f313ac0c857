// How callers are told apart where something is counted or queued for each of them. One API key belongs to one
// environment, so its id stands for both. What callers choose themselves stands last, so that no two names are alike.

/** A caller with an API key. A whole fleet may share a key, and replicas an agent id, so neither is limited alone. */
export interface KeyHolder {
  readonly keyId: string;
  /** The agent-id header's; null when absent. */
  readonly agentId: string | null;
  /** The IPv4 address, or the /64 of the IPv6 address. */
  readonly network: string;
}

const together = ({ keyId, network, agentId }: KeyHolder): string => `${keyId}/${network}/${agentId ?? ''}`;

/** Who a request is of, as far as limits tell callers apart. */
export type LimitedCaller =
  | ({ readonly kind: 'key' | 'hostedKey' } & KeyHolder)
  | { readonly kind: 'user'; readonly userId: string }
  | {
      readonly kind: 'hostedOperator';
      readonly tenantId: string;
      readonly issuer: string;
      readonly subject: string;
    }
  | { readonly kind: 'none' | 'operator' };

type Operator = Extract<LimitedCaller, { kind: 'hostedOperator' }>;

/** By length first, so that no issuer and subject can be read as another pair. */
const operatorName = ({ tenantId, issuer, subject }: Operator): string =>
  `${tenantId}/${issuer.length}/${issuer}/${subject}`;

/** What `prefix` counts of a caller; null for one that only its address tells apart. */
export function callerName(prefix: string, caller: LimitedCaller): string | null {
  switch (caller.kind) {
    case 'key':
    case 'hostedKey':
      return `${prefix}-key:${together(caller)}`;
    case 'user':
      return `${prefix}-user:${caller.userId}`;
    case 'hostedOperator':
      return `${prefix}-operator:${operatorName(caller)}`;
    default:
      return null;
  }
}

export const callerNames = {
  requestsOf: (caller: LimitedCaller) => callerName('requests', caller),
  streamsOf: (caller: LimitedCaller) => callerName('streams', caller),
  searchesOfAgent: ({ keyId, agentId }: KeyHolder) => `searches-agent:${keyId}/${agentId ?? ''}`,
  requestsOfNetwork: (network: string) => `requests-network:${network}`,
  newAgents: (keyId: string) => `new-agents:${keyId}`,
} as const;
